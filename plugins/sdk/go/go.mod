module witlet.dev/plugin

go 1.25
