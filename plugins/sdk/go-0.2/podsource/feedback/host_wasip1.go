package feedback

import (
	"witlet.dev/plugin/v0_2/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]news.next
func newsNext(handle, result uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [resource-drop]news
func dropNews(handle uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]change.kind
func changeKind(handle, result uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]change.namespace
func changeNamespace(handle, result uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]change.name
func changeName(handle, result uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]change.uid
func changeUID(handle, result uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]change.phase
func changePhase(handle, result uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]change.reason
func changeReason(handle, result uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]change.message
func changeMessage(handle, result uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [method]change.status
func changeStatus(handle, result uint32)

//go:wasmimport witlet:pod-source/source-types@0.2.0 [resource-drop]change
func dropChange(handle uint32)

//go:wasmexport witlet:pod-source/feedback@0.2.0#notify
func exportNotify(news uint32) uint32 {
	defer abi.Guard()
	lent := contract.Lend(news, dropNews)
	var changes []Change
	for {
		handle, ok := contract.GetOption(newsNext, lent, abi.U32, 4)
		if !ok {
			break
		}
		changes = append(changes, read(contract.Lend(handle, dropChange)))
	}
	err := Reported(contract.ConfigText(), changes)
	contract.GiveBack()
	return contract.Result(err)
}

func read(change *contract.Lease) Change {
	text := func(getter func(handle, result uint32)) string { return contract.Get(getter, change, abi.Text) }
	status, _ := contract.GetOption(changeStatus, change, abi.Text, 4)
	return Change{
		Kind: text(changeKind), Namespace: text(changeNamespace), Name: text(changeName), UID: text(changeUID),
		Phase: text(changePhase), Reason: text(changeReason), Message: text(changeMessage), Status: status,
	}
}
