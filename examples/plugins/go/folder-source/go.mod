module example.com/folder-source

go 1.27

require witlet.dev/plugin v0.0.0

replace witlet.dev/plugin => ./sdk
