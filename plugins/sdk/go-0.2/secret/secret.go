// Package secret has values that stand neither in the configuration nor in pods, for plugins of contract 0.2. A component that
// imports it needs the grant secrets, and a world that imports witlet:host/secret@0.2.0.
package secret
