module example.com/policies

go 1.27

require (
	witlet.dev/plugin v0.0.0
	witlet.dev/plugin/v0_2 v0.0.0
)

replace (
	witlet.dev/plugin => ./sdk
	witlet.dev/plugin/v0_2 => ./sdk-0.2
)
