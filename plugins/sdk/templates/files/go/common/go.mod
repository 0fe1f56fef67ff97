module example.com/{{name}}

go 1.27

require (
	witlet.dev/plugin v0.0.0
	witlet.dev/plugin/v0_2 v0.0.0
)

// The SDK as it was when this project was made. `witlet plugin new` writes a newer one.
replace (
	witlet.dev/plugin => ./sdk
	witlet.dev/plugin/v0_2 => ./sdk-0.2
)
