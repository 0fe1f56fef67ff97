module witlet.dev/plugin/draft

go 1.25

require witlet.dev/plugin v0.0.0

replace witlet.dev/plugin => ../go
