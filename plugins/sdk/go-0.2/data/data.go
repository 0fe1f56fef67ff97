// Package data has what the operator gives a plugin next to its configuration (data: of its entry), in contract 0.2. Its world
// imports witlet:host/data@0.2.0.
package data

// A Snapshot is data that were opened. They are there until the call ends.
type Snapshot interface {
	// Digest is sha256: and 64 hexadecimal digits.
	Digest() string
	// Size is how many bytes there are, at most 16 MiB.
	Size() uint64
	// Read returns as many bytes from offset on as length says: fewer at the end, and never more than 1 MiB.
	Read(offset, length uint64) []byte
}

// All are all bytes.
func All(snapshot Snapshot) []byte {
	bytes := make([]byte, 0, snapshot.Size())
	for {
		part := snapshot.Read(uint64(len(bytes)), partBytes)
		if len(part) == 0 {
			return bytes
		}
		bytes = append(bytes, part...)
	}
}

// partBytes is as much as the host gives at once.
const partBytes = 1 << 20
