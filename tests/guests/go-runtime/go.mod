module example.com/go-runtime

go 1.27

require witlet.dev/plugin v0.0.0

replace witlet.dev/plugin => ./sdk
