package admission

import (
	"time"

	"witlet.dev/plugin/internal/abi"
)

type hostSetup struct{ *lease }

func (h hostSetup) Subscribe(operation string)  { callText(setupSubscribe, h, operation) }
func (h hostSetup) Knows(operation string) bool { return asked(setupKnows, h, operation) != 0 }
func (h hostSetup) Warn(message string)         { callText(setupWarn, h, message) }

type hostImage struct{ *lease }

func (h hostImage) String() string             { return ImageText(h) }
func (h hostImage) Reference() string          { return get(imageReference, h, abi.Text) }
func (h hostImage) Place() string              { return get(imagePlace, h, abi.Text) }
func (h hostImage) Name() string               { return get(imageName, h, abi.Text) }
func (h hostImage) Registry() (string, bool)   { return getOptional(imageRegistry, h, abi.Text, 4) }
func (h hostImage) Repository() (string, bool) { return getOptional(imageRepository, h, abi.Text, 4) }
func (h hostImage) Tag() (string, bool)        { return getOptional(imageTag, h, abi.Text, 4) }
func (h hostImage) Digest() (string, bool)     { return getOptional(imageDigest, h, abi.Text, 4) }

type hostResolvedImage struct{ *lease }

func (h hostResolvedImage) Container() Container {
	return hostContainer{lend(resolvedImageContainer(h.live()), dropContainer)}
}
func (h hostResolvedImage) ID() string { return get(resolvedImageID, h, abi.Text) }
func (h hostResolvedImage) Digest() (string, bool) {
	return getOptional(resolvedImageDigest, h, abi.Text, 4)
}
func (h hostResolvedImage) Size() (uint64, bool) {
	return getOptional(resolvedImageSize, h, abi.U64, 8)
}
func (h hostResolvedImage) Credentials() (string, bool) {
	return getOptional(resolvedImageCredentials, h, abi.Text, 4)
}

type hostContainerPort struct{ *lease }

func (h hostContainerPort) Name() string     { return get(containerPortName, h, abi.Text) }
func (h hostContainerPort) Number() uint16   { return uint16(containerPortNumber(h.live())) }
func (h hostContainerPort) Protocol() string { return get(containerPortProtocol, h, abi.Text) }
func (h hostContainerPort) HostPort() (uint16, bool) {
	return getOptional(containerPortHostPort, h, abi.U16, 2)
}

type hostHostPort struct{ *lease }

func (h hostHostPort) Address() (string, bool) { return getOptional(hostPortAddress, h, abi.Text, 4) }
func (h hostHostPort) Protocol() string        { return get(hostPortProtocol, h, abi.Text) }
func (h hostHostPort) Number() uint16          { return uint16(hostPortNumber(h.live())) }

type hostMount struct{ *lease }

func (h hostMount) Volume() string  { return get(mountVolume, h, abi.Text) }
func (h hostMount) Path() string    { return get(mountPath, h, abi.Text) }
func (h hostMount) SubPath() string { return get(mountSubPath, h, abi.Text) }
func (h hostMount) ReadOnly() bool  { return mountReadOnly(h.live()) != 0 }
func (h hostMount) IsDevice() bool  { return mountIsDevice(h.live()) != 0 }

type hostContainer struct{ *lease }

func (h hostContainer) String() string      { return ContainerText(h) }
func (h hostContainer) Name() string        { return get(containerName, h, abi.Text) }
func (h hostContainer) Kind() string        { return get(containerKind, h, abi.Text) }
func (h hostContainer) Place() string       { return get(containerPlace, h, abi.Text) }
func (h hostContainer) Image() Image        { return hostImage{lend(containerImage(h.live()), dropImage)} }
func (h hostContainer) PullPolicy() string  { return get(containerPullPolicy, h, abi.Text) }
func (h hostContainer) Resources() []string { return get(containerResources, h, texts) }
func (h hostContainer) Request(resource string) (int64, bool) {
	return withOptional(containerRequest, h, resource, readS64, 8)
}
func (h hostContainer) Limit(resource string) (int64, bool) {
	return withOptional(containerLimit, h, resource, readS64, 8)
}
func (h hostContainer) Privileged() bool   { return containerPrivileged(h.live()) != 0 }
func (h hostContainer) RunAsNonRoot() bool { return containerRunAsNonRoot(h.live()) != 0 }
func (h hostContainer) RunAsUser() (int64, bool) {
	return getOptional(containerRunAsUser, h, readS64, 8)
}
func (h hostContainer) RunAsGroup() (int64, bool) {
	return getOptional(containerRunAsGroup, h, readS64, 8)
}
func (h hostContainer) AllowPrivilegeEscalation() bool {
	return containerAllowPrivilegeEscalation(h.live()) != 0
}
func (h hostContainer) ReadOnlyRootFilesystem() bool {
	return containerReadOnlyRootFilesystem(h.live()) != 0
}
func (h hostContainer) SeccompProfile() (string, bool) {
	return getOptional(containerSeccompProfile, h, abi.Text, 4)
}
func (h hostContainer) AppArmorProfile() (string, bool) {
	return getOptional(containerAppArmorProfile, h, abi.Text, 4)
}
func (h hostContainer) AddedCapabilities() []string { return get(containerAddedCapabilities, h, texts) }
func (h hostContainer) DroppedCapabilities() []string {
	return get(containerDroppedCapabilities, h, texts)
}
func (h hostContainer) EnvNames() []string { return get(containerEnvNames, h, texts) }
func (h hostContainer) Ports() []ContainerPort {
	return get(containerPorts, h, listOf(readContainerPort))
}
func (h hostContainer) Mounts() []Mount { return get(containerMounts, h, listOf(readMount)) }
func (h hostContainer) Pointer(path string) (string, bool) {
	return withOptional(containerPointer, h, path, abi.Text, 4)
}

type hostVolume struct{ *lease }

func (h hostVolume) String() string           { return VolumeText(h) }
func (h hostVolume) Name() string             { return get(volumeName, h, abi.Text) }
func (h hostVolume) Kind() string             { return get(volumeKind, h, abi.Text) }
func (h hostVolume) HostPath() (string, bool) { return getOptional(volumeHostPath, h, abi.Text, 4) }
func (h hostVolume) Image() (Image, bool)     { return getOptional(volumeImage, h, readImage, 4) }
func (h hostVolume) Pointer(path string) (string, bool) {
	return withOptional(volumePointer, h, path, abi.Text, 4)
}

type hostOwner struct{ *lease }

func (h hostOwner) APIVersion() string { return get(ownerAPIVersion, h, abi.Text) }
func (h hostOwner) Kind() string       { return get(ownerKind, h, abi.Text) }
func (h hostOwner) Name() string       { return get(ownerName, h, abi.Text) }
func (h hostOwner) UID() string        { return get(ownerUID, h, abi.Text) }
func (h hostOwner) IsController() bool { return ownerIsController(h.live()) != 0 }

type hostPod struct{ *lease }

func (h hostPod) Namespace() string               { return get(podNamespace, h, abi.Text) }
func (h hostPod) Name() string                    { return get(podName, h, abi.Text) }
func (h hostPod) UID() string                     { return get(podUID, h, abi.Text) }
func (h hostPod) Source() string                  { return get(podSource, h, abi.Text) }
func (h hostPod) Label(key string) (string, bool) { return withOptional(podLabel, h, key, abi.Text, 4) }
func (h hostPod) Labels() map[string]string       { return get(podLabels, h, abi.Pairs) }
func (h hostPod) Annotation(key string) (string, bool) {
	return withOptional(podAnnotation, h, key, abi.Text, 4)
}
func (h hostPod) Annotations() map[string]string { return get(podAnnotations, h, abi.Pairs) }
func (h hostPod) Owners() []Owner                { return get(podOwners, h, listOf(readOwner)) }
func (h hostPod) ServiceAccount() string         { return get(podServiceAccount, h, abi.Text) }
func (h hostPod) HasServiceAccountToken() bool   { return podHasServiceAccountToken(h.live()) != 0 }
func (h hostPod) Priority() int32                { return podPriority(h.live()) }
func (h hostPod) PriorityClass() string          { return get(podPriorityClass, h, abi.Text) }
func (h hostPod) RuntimeClass() string           { return get(podRuntimeClass, h, abi.Text) }
func (h hostPod) RuntimeHandler() (string, bool) {
	return getOptional(podRuntimeHandler, h, abi.Text, 4)
}
func (h hostPod) QOS() string             { return get(podQOS, h, abi.Text) }
func (h hostPod) HostNetwork() bool       { return podHostNetwork(h.live()) != 0 }
func (h hostPod) HostPID() bool           { return podHostPID(h.live()) != 0 }
func (h hostPod) HostIPC() bool           { return podHostIPC(h.live()) != 0 }
func (h hostPod) HostUsers() bool         { return podHostUsers(h.live()) != 0 }
func (h hostPod) Containers() []Container { return get(podContainers, h, listOf(readContainer)) }
func (h hostPod) Images() []Image         { return get(podImages, h, listOf(readImage)) }
func (h hostPod) Volumes() []Volume       { return get(podVolumes, h, listOf(readVolume)) }
func (h hostPod) Resources() []string     { return get(podResources, h, texts) }
func (h hostPod) Request(resource string) (int64, bool) {
	return withOptional(podRequest, h, resource, readS64, 8)
}
func (h hostPod) Limit(resource string) (int64, bool) {
	return withOptional(podLimit, h, resource, readS64, 8)
}
func (h hostPod) HostPorts() []HostPort { return get(podHostPorts, h, listOf(readHostPort)) }
func (h hostPod) JSON() string          { return get(podJSON, h, abi.Text) }
func (h hostPod) Pointer(path string) (string, bool) {
	return withOptional(podPointer, h, path, abi.Text, 4)
}

type hostTaint struct{ *lease }

func (h hostTaint) Key() string    { return get(taintKey, h, abi.Text) }
func (h hostTaint) Value() string  { return get(taintValue, h, abi.Text) }
func (h hostTaint) Effect() string { return get(taintEffect, h, abi.Text) }

type hostCondition struct{ *lease }

func (h hostCondition) Kind() string    { return get(conditionKind, h, abi.Text) }
func (h hostCondition) Status() string  { return get(conditionStatus, h, abi.Text) }
func (h hostCondition) Reason() string  { return get(conditionReason, h, abi.Text) }
func (h hostCondition) Message() string { return get(conditionMessage, h, abi.Text) }

type hostNode struct{ *lease }

func (h hostNode) Name() string { return get(nodeName, h, abi.Text) }
func (h hostNode) Label(key string) (string, bool) {
	return withOptional(nodeLabel, h, key, abi.Text, 4)
}
func (h hostNode) Labels() map[string]string { return get(nodeLabels, h, abi.Pairs) }
func (h hostNode) Taints() []Taint           { return get(nodeTaints, h, listOf(readTaint)) }
func (h hostNode) Condition(kind string) (Condition, bool) {
	return withOptional(nodeCondition, h, kind, readCondition, 4)
}
func (h hostNode) Conditions() []Condition { return get(nodeConditions, h, listOf(readCondition)) }
func (h hostNode) Resources() []string     { return get(nodeResources, h, texts) }
func (h hostNode) Capacity(resource string) (int64, bool) {
	return withOptional(nodeCapacity, h, resource, readS64, 8)
}
func (h hostNode) Allocatable(resource string) (int64, bool) {
	return withOptional(nodeAllocatable, h, resource, readS64, 8)
}
func (h hostNode) Requested(resource string) int64 { return asked(nodeRequested, h, resource) }
func (h hostNode) Available(resource string) (int64, bool) {
	return withOptional(nodeAvailable, h, resource, readS64, 8)
}
func (h hostNode) Used(resource string) (int64, bool) {
	return withOptional(nodeUsed, h, resource, readS64, 8)
}
func (h hostNode) UsedHostPorts() []HostPort      { return get(nodeUsedHostPorts, h, listOf(readHostPort)) }
func (h hostNode) Fact(key string) (string, bool) { return withOptional(nodeFact, h, key, abi.Text, 4) }
func (h hostNode) Facts() map[string]string       { return get(nodeFacts, h, abi.Pairs) }
func (h hostNode) Devices() string                { return get(nodeDevices, h, abi.Text) }
func (h hostNode) JSON() string                   { return get(nodeJSON, h, abi.Text) }
func (h hostNode) Pointer(path string) (string, bool) {
	return withOptional(nodePointer, h, path, abi.Text, 4)
}

type hostRequest struct{ *lease }

func (h hostRequest) Operation() string   { return get(requestOperation, h, abi.Text) }
func (h hostRequest) Now() time.Time      { return get(requestNow, h, readTime) }
func (h hostRequest) Pod() Pod            { return hostPod{lend(requestPod(h.live()), dropPod)} }
func (h hostRequest) OldPod() (Pod, bool) { return getOptional(requestOldPod, h, readPod, 4) }
func (h hostRequest) Image() (ResolvedImage, bool) {
	return getOptional(requestImage, h, readResolvedImage, 4)
}
func (h hostRequest) Node() Node       { return hostNode{lend(requestNode(h.live()), dropNode)} }
func (h hostRequest) OtherPods() []Pod { return get(requestOtherPods, h, listOf(readPod)) }

func readCondition(at uint32) Condition { return hostCondition{lend(abi.U32(at), dropCondition)} }
func readContainer(at uint32) Container { return hostContainer{lend(abi.U32(at), dropContainer)} }
func readContainerPort(at uint32) ContainerPort {
	return hostContainerPort{lend(abi.U32(at), dropContainerPort)}
}
func readHostPort(at uint32) HostPort { return hostHostPort{lend(abi.U32(at), dropHostPort)} }
func readImage(at uint32) Image       { return hostImage{lend(abi.U32(at), dropImage)} }
func readMount(at uint32) Mount       { return hostMount{lend(abi.U32(at), dropMount)} }
func readOwner(at uint32) Owner       { return hostOwner{lend(abi.U32(at), dropOwner)} }
func readPod(at uint32) Pod           { return hostPod{lend(abi.U32(at), dropPod)} }
func readResolvedImage(at uint32) ResolvedImage {
	return hostResolvedImage{lend(abi.U32(at), dropResolvedImage)}
}
func readTaint(at uint32) Taint   { return hostTaint{lend(abi.U32(at), dropTaint)} }
func readVolume(at uint32) Volume { return hostVolume{lend(abi.U32(at), dropVolume)} }
