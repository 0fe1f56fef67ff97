module example.com/pod-folder

go 1.27

require (
	witlet.dev/plugin v0.0.0
	witlet.dev/plugin/draft v0.0.0
)

replace (
	witlet.dev/plugin => ./sdk
	witlet.dev/plugin/draft => ./draft
)
