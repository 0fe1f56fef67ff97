module witlet.dev/plugin/v0_2

go 1.25

require witlet.dev/plugin v0.0.0

replace witlet.dev/plugin => ../go
