package admission

import (
	"time"

	"witlet.dev/plugin/v0_2/internal/contract"
	"witlet.dev/plugin/internal/abi"
)

type hostSetup struct{ *contract.Lease }

func (h hostSetup) Subscribe(operation string)  { contract.CallText(setupSubscribe, h, operation) }
func (h hostSetup) Knows(operation string) bool { return contract.Asked(setupKnows, h, operation) != 0 }
func (h hostSetup) Warn(message string)         { contract.CallText(setupWarn, h, message) }

type hostImage struct{ *contract.Lease }

func (h hostImage) String() string    { return ImageText(h) }
func (h hostImage) Reference() string { return contract.Get(imageReference, h, abi.Text) }
func (h hostImage) Place() string     { return contract.Get(imagePlace, h, abi.Text) }
func (h hostImage) Name() string      { return contract.Get(imageName, h, abi.Text) }
func (h hostImage) Registry() (string, bool) {
	return contract.GetOption(imageRegistry, h, abi.Text, 4)
}
func (h hostImage) Repository() (string, bool) {
	return contract.GetOption(imageRepository, h, abi.Text, 4)
}
func (h hostImage) Tag() (string, bool)    { return contract.GetOption(imageTag, h, abi.Text, 4) }
func (h hostImage) Digest() (string, bool) { return contract.GetOption(imageDigest, h, abi.Text, 4) }

type hostResolvedImage struct{ *contract.Lease }

func (h hostResolvedImage) Container() Container {
	return hostContainer{contract.Lend(resolvedImageContainer(h.Live()), dropContainer)}
}
func (h hostResolvedImage) ID() string { return contract.Get(resolvedImageID, h, abi.Text) }
func (h hostResolvedImage) Digest() (string, bool) {
	return contract.GetOption(resolvedImageDigest, h, abi.Text, 4)
}
func (h hostResolvedImage) Size() (uint64, bool) {
	return contract.GetOption(resolvedImageSize, h, abi.U64, 8)
}
func (h hostResolvedImage) Credentials() (string, bool) {
	return contract.GetOption(resolvedImageCredentials, h, abi.Text, 4)
}

type hostContainerPort struct{ *contract.Lease }

func (h hostContainerPort) Name() string     { return contract.Get(containerPortName, h, abi.Text) }
func (h hostContainerPort) Number() uint16   { return uint16(containerPortNumber(h.Live())) }
func (h hostContainerPort) Protocol() string { return contract.Get(containerPortProtocol, h, abi.Text) }
func (h hostContainerPort) HostPort() (uint16, bool) {
	return contract.GetOption(containerPortHostPort, h, abi.U16, 2)
}

type hostHostPort struct{ *contract.Lease }

func (h hostHostPort) Address() (string, bool) {
	return contract.GetOption(hostPortAddress, h, abi.Text, 4)
}
func (h hostHostPort) Protocol() string { return contract.Get(hostPortProtocol, h, abi.Text) }
func (h hostHostPort) Number() uint16   { return uint16(hostPortNumber(h.Live())) }

type hostMount struct{ *contract.Lease }

func (h hostMount) Volume() string  { return contract.Get(mountVolume, h, abi.Text) }
func (h hostMount) Path() string    { return contract.Get(mountPath, h, abi.Text) }
func (h hostMount) SubPath() string { return contract.Get(mountSubPath, h, abi.Text) }
func (h hostMount) ReadOnly() bool  { return mountReadOnly(h.Live()) != 0 }
func (h hostMount) IsDevice() bool  { return mountIsDevice(h.Live()) != 0 }

type hostContainer struct{ *contract.Lease }

func (h hostContainer) String() string { return ContainerText(h) }
func (h hostContainer) Name() string   { return contract.Get(containerName, h, abi.Text) }
func (h hostContainer) Kind() string   { return contract.Get(containerKind, h, abi.Text) }
func (h hostContainer) Place() string  { return contract.Get(containerPlace, h, abi.Text) }
func (h hostContainer) Image() Image {
	return hostImage{contract.Lend(containerImage(h.Live()), dropImage)}
}
func (h hostContainer) PullPolicy() string  { return contract.Get(containerPullPolicy, h, abi.Text) }
func (h hostContainer) Resources() []string { return contract.Get(containerResources, h, texts) }
func (h hostContainer) Request(resource string) (int64, bool) {
	return contract.GetOptional(containerRequest, h, resource, readS64, 8)
}
func (h hostContainer) Limit(resource string) (int64, bool) {
	return contract.GetOptional(containerLimit, h, resource, readS64, 8)
}
func (h hostContainer) Privileged() bool   { return containerPrivileged(h.Live()) != 0 }
func (h hostContainer) RunAsNonRoot() bool { return containerRunAsNonRoot(h.Live()) != 0 }
func (h hostContainer) RunAsUser() (int64, bool) {
	return contract.GetOption(containerRunAsUser, h, readS64, 8)
}
func (h hostContainer) RunAsGroup() (int64, bool) {
	return contract.GetOption(containerRunAsGroup, h, readS64, 8)
}
func (h hostContainer) AllowPrivilegeEscalation() bool {
	return containerAllowPrivilegeEscalation(h.Live()) != 0
}
func (h hostContainer) ReadOnlyRootFilesystem() bool {
	return containerReadOnlyRootFilesystem(h.Live()) != 0
}
func (h hostContainer) SeccompProfile() (string, bool) {
	return contract.GetOption(containerSeccompProfile, h, abi.Text, 4)
}
func (h hostContainer) AppArmorProfile() (string, bool) {
	return contract.GetOption(containerAppArmorProfile, h, abi.Text, 4)
}
func (h hostContainer) AddedCapabilities() []string {
	return contract.Get(containerAddedCapabilities, h, texts)
}
func (h hostContainer) DroppedCapabilities() []string {
	return contract.Get(containerDroppedCapabilities, h, texts)
}
func (h hostContainer) EnvNames() []string { return contract.Get(containerEnvNames, h, texts) }
func (h hostContainer) Ports() []ContainerPort {
	return contract.Get(containerPorts, h, listOf(readContainerPort))
}
func (h hostContainer) Mounts() []Mount { return contract.Get(containerMounts, h, listOf(readMount)) }
func (h hostContainer) Pointer(path string) (string, bool) {
	return contract.GetOptional(containerPointer, h, path, abi.Text, 4)
}

type hostVolume struct{ *contract.Lease }

func (h hostVolume) String() string { return VolumeText(h) }
func (h hostVolume) Name() string   { return contract.Get(volumeName, h, abi.Text) }
func (h hostVolume) Kind() string   { return contract.Get(volumeKind, h, abi.Text) }
func (h hostVolume) HostPath() (string, bool) {
	return contract.GetOption(volumeHostPath, h, abi.Text, 4)
}
func (h hostVolume) Image() (Image, bool) { return contract.GetOption(volumeImage, h, readImage, 4) }
func (h hostVolume) Pointer(path string) (string, bool) {
	return contract.GetOptional(volumePointer, h, path, abi.Text, 4)
}

type hostOwner struct{ *contract.Lease }

func (h hostOwner) APIVersion() string { return contract.Get(ownerAPIVersion, h, abi.Text) }
func (h hostOwner) Kind() string       { return contract.Get(ownerKind, h, abi.Text) }
func (h hostOwner) Name() string       { return contract.Get(ownerName, h, abi.Text) }
func (h hostOwner) UID() string        { return contract.Get(ownerUID, h, abi.Text) }
func (h hostOwner) IsController() bool { return ownerIsController(h.Live()) != 0 }

type hostPod struct{ *contract.Lease }

func (h hostPod) Namespace() string { return contract.Get(podNamespace, h, abi.Text) }
func (h hostPod) Name() string      { return contract.Get(podName, h, abi.Text) }
func (h hostPod) UID() string       { return contract.Get(podUID, h, abi.Text) }
func (h hostPod) Source() string    { return contract.Get(podSource, h, abi.Text) }
func (h hostPod) Label(key string) (string, bool) {
	return contract.GetOptional(podLabel, h, key, abi.Text, 4)
}
func (h hostPod) Labels() map[string]string { return contract.Get(podLabels, h, abi.Pairs) }
func (h hostPod) Annotation(key string) (string, bool) {
	return contract.GetOptional(podAnnotation, h, key, abi.Text, 4)
}
func (h hostPod) Annotations() map[string]string { return contract.Get(podAnnotations, h, abi.Pairs) }
func (h hostPod) Owners() []Owner                { return contract.Get(podOwners, h, listOf(readOwner)) }
func (h hostPod) ServiceAccount() string         { return contract.Get(podServiceAccount, h, abi.Text) }
func (h hostPod) HasServiceAccountToken() bool   { return podHasServiceAccountToken(h.Live()) != 0 }
func (h hostPod) Priority() int32                { return podPriority(h.Live()) }
func (h hostPod) PriorityClass() string          { return contract.Get(podPriorityClass, h, abi.Text) }
func (h hostPod) RuntimeClass() string           { return contract.Get(podRuntimeClass, h, abi.Text) }
func (h hostPod) RuntimeHandler() (string, bool) {
	return contract.GetOption(podRuntimeHandler, h, abi.Text, 4)
}
func (h hostPod) QOS() string       { return contract.Get(podQOS, h, abi.Text) }
func (h hostPod) HostNetwork() bool { return podHostNetwork(h.Live()) != 0 }
func (h hostPod) HostPID() bool     { return podHostPID(h.Live()) != 0 }
func (h hostPod) HostIPC() bool     { return podHostIPC(h.Live()) != 0 }
func (h hostPod) HostUsers() bool   { return podHostUsers(h.Live()) != 0 }
func (h hostPod) Containers() []Container {
	return contract.Get(podContainers, h, listOf(readContainer))
}
func (h hostPod) Images() []Image     { return contract.Get(podImages, h, listOf(readImage)) }
func (h hostPod) Volumes() []Volume   { return contract.Get(podVolumes, h, listOf(readVolume)) }
func (h hostPod) Resources() []string { return contract.Get(podResources, h, texts) }
func (h hostPod) Request(resource string) (int64, bool) {
	return contract.GetOptional(podRequest, h, resource, readS64, 8)
}
func (h hostPod) Limit(resource string) (int64, bool) {
	return contract.GetOptional(podLimit, h, resource, readS64, 8)
}
func (h hostPod) HostPorts() []HostPort { return contract.Get(podHostPorts, h, listOf(readHostPort)) }
func (h hostPod) JSON() string          { return contract.Get(podJSON, h, abi.Text) }
func (h hostPod) Pointer(path string) (string, bool) {
	return contract.GetOptional(podPointer, h, path, abi.Text, 4)
}

type hostTaint struct{ *contract.Lease }

func (h hostTaint) Key() string    { return contract.Get(taintKey, h, abi.Text) }
func (h hostTaint) Value() string  { return contract.Get(taintValue, h, abi.Text) }
func (h hostTaint) Effect() string { return contract.Get(taintEffect, h, abi.Text) }

type hostCondition struct{ *contract.Lease }

func (h hostCondition) Kind() string    { return contract.Get(conditionKind, h, abi.Text) }
func (h hostCondition) Status() string  { return contract.Get(conditionStatus, h, abi.Text) }
func (h hostCondition) Reason() string  { return contract.Get(conditionReason, h, abi.Text) }
func (h hostCondition) Message() string { return contract.Get(conditionMessage, h, abi.Text) }

type hostNode struct{ *contract.Lease }

func (h hostNode) Name() string { return contract.Get(nodeName, h, abi.Text) }
func (h hostNode) Label(key string) (string, bool) {
	return contract.GetOptional(nodeLabel, h, key, abi.Text, 4)
}
func (h hostNode) Labels() map[string]string { return contract.Get(nodeLabels, h, abi.Pairs) }
func (h hostNode) Taints() []Taint           { return contract.Get(nodeTaints, h, listOf(readTaint)) }
func (h hostNode) Condition(kind string) (Condition, bool) {
	return contract.GetOptional(nodeCondition, h, kind, readCondition, 4)
}
func (h hostNode) Conditions() []Condition {
	return contract.Get(nodeConditions, h, listOf(readCondition))
}
func (h hostNode) Resources() []string { return contract.Get(nodeResources, h, texts) }
func (h hostNode) Capacity(resource string) (int64, bool) {
	return contract.GetOptional(nodeCapacity, h, resource, readS64, 8)
}
func (h hostNode) Allocatable(resource string) (int64, bool) {
	return contract.GetOptional(nodeAllocatable, h, resource, readS64, 8)
}
func (h hostNode) Requested(resource string) int64 { return contract.Asked(nodeRequested, h, resource) }
func (h hostNode) Available(resource string) (int64, bool) {
	return contract.GetOptional(nodeAvailable, h, resource, readS64, 8)
}
func (h hostNode) Used(resource string) (int64, bool) {
	return contract.GetOptional(nodeUsed, h, resource, readS64, 8)
}
func (h hostNode) UsedHostPorts() []HostPort {
	return contract.Get(nodeUsedHostPorts, h, listOf(readHostPort))
}
func (h hostNode) Fact(key string) (string, bool) {
	return contract.GetOptional(nodeFact, h, key, abi.Text, 4)
}
func (h hostNode) Facts() map[string]string { return contract.Get(nodeFacts, h, abi.Pairs) }
func (h hostNode) Devices() string          { return contract.Get(nodeDevices, h, abi.Text) }
func (h hostNode) JSON() string             { return contract.Get(nodeJSON, h, abi.Text) }
func (h hostNode) Pointer(path string) (string, bool) {
	return contract.GetOptional(nodePointer, h, path, abi.Text, 4)
}

type hostRequest struct{ *contract.Lease }

func (h hostRequest) Operation() string   { return contract.Get(requestOperation, h, abi.Text) }
func (h hostRequest) Now() time.Time      { return contract.Get(requestNow, h, readTime) }
func (h hostRequest) Pod() Pod            { return hostPod{contract.Lend(requestPod(h.Live()), dropPod)} }
func (h hostRequest) OldPod() (Pod, bool) { return contract.GetOption(requestOldPod, h, readPod, 4) }
func (h hostRequest) Image() (ResolvedImage, bool) {
	return contract.GetOption(requestImage, h, readResolvedImage, 4)
}
func (h hostRequest) Node() Node       { return hostNode{contract.Lend(requestNode(h.Live()), dropNode)} }
func (h hostRequest) OtherPods() []Pod { return contract.Get(requestOtherPods, h, listOf(readPod)) }

func readCondition(at uint32) Condition {
	return hostCondition{contract.Lend(abi.U32(at), dropCondition)}
}
func readContainer(at uint32) Container {
	return hostContainer{contract.Lend(abi.U32(at), dropContainer)}
}
func readContainerPort(at uint32) ContainerPort {
	return hostContainerPort{contract.Lend(abi.U32(at), dropContainerPort)}
}
func readHostPort(at uint32) HostPort { return hostHostPort{contract.Lend(abi.U32(at), dropHostPort)} }
func readImage(at uint32) Image       { return hostImage{contract.Lend(abi.U32(at), dropImage)} }
func readMount(at uint32) Mount       { return hostMount{contract.Lend(abi.U32(at), dropMount)} }
func readOwner(at uint32) Owner       { return hostOwner{contract.Lend(abi.U32(at), dropOwner)} }
func readPod(at uint32) Pod           { return hostPod{contract.Lend(abi.U32(at), dropPod)} }
func readResolvedImage(at uint32) ResolvedImage {
	return hostResolvedImage{contract.Lend(abi.U32(at), dropResolvedImage)}
}
func readTaint(at uint32) Taint   { return hostTaint{contract.Lend(abi.U32(at), dropTaint)} }
func readVolume(at uint32) Volume { return hostVolume{contract.Lend(abi.U32(at), dropVolume)} }
