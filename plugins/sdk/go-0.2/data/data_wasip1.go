package data

import (
	"witlet.dev/plugin/v0_2/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

//go:wasmimport witlet:host/data@0.2.0 names
func dataNames(result uint32)

//go:wasmimport witlet:host/data@0.2.0 open
func dataOpen(address, length, result uint32)

//go:wasmimport witlet:host/data@0.2.0 [method]snapshot.digest
func snapshotDigest(handle, result uint32)

//go:wasmimport witlet:host/data@0.2.0 [method]snapshot.size
func snapshotSize(handle uint32) uint64

//go:wasmimport witlet:host/data@0.2.0 [method]snapshot.read
func snapshotRead(handle uint32, offset, length uint64, result uint32)

//go:wasmimport witlet:host/data@0.2.0 [resource-drop]snapshot
func dropSnapshot(handle uint32)

// Names are the names that the entry gives them, sorted.
func Names() []string {
	abi.Enter()
	defer abi.Leave()
	result := abi.ImportResult()
	dataNames(result)
	return abi.List(result, abi.TextSize, abi.Text)
}

// Open opens the data with this name. The error of data that the entry doesn't have has the code NotFound.
func Open(name string) (Snapshot, error) {
	var address, length uint32
	layOut := func() { address, length = abi.TextArgument(name) }
	handle, err := contract.Returned(func(result uint32) { dataOpen(address, length, result) }, abi.U32, layOut)
	if err != nil {
		return nil, err
	}
	return hostSnapshot{contract.Lend(handle, dropSnapshot)}, nil
}

type hostSnapshot struct{ *contract.Lease }

func (h hostSnapshot) Digest() string { return contract.Get(snapshotDigest, h, abi.Text) }
func (h hostSnapshot) Size() uint64   { return snapshotSize(h.Live()) }
func (h hostSnapshot) Read(offset, length uint64) []byte {
	read := func(handle, result uint32) { snapshotRead(handle, offset, length, result) }
	return contract.Get(read, h, abi.Bytes)
}
