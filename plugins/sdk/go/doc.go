// Package plugin is for authors of witlet plugins in Go.
//
// A plugin is a component with one or more of three roles, a package each: an admission handler ([witlet.dev/plugin/admission]), a
// probe type ([witlet.dev/plugin/probe]) or a pod source ([witlet.dev/plugin/podsource]). Its author writes an ordinary type with
// the methods of the role's interface, and hands a value of it to the role's Export in an init function. Importing a role's package
// makes the component export it.
//
// What needs a grant of its own is a package of its own, so that a component without it needs no grant: secrets
// ([witlet.dev/plugin/secret]), commands in the probed container ([witlet.dev/plugin/exec]) and connections
// ([witlet.dev/plugin/tcp]). Files are those of package os, in the folders that are granted.
//
// Lines for the node's log are those of log/slog and log: in a component slog.Default writes to the host. Attributes become fields.
//
// Unit tests are plain ones: on other systems than wasip1 nothing of a component is compiled, the packages admissiontest and
// probetest make requests and targets of plain data, and connections and files are real ones.
//
// # What to keep in mind
//
// An error that a method returns is an answer; a panic is a trap: the call has failed, counts against the plugin, and its instance is
// gone. An export runs on one thread, and so does everything that it starts: other goroutines go on when it waits for them, and stand
// still while the host waits for the network, or no call is made.
package plugin
