package admission

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]setup.subscribe
func setupSubscribe(handle uint32, operationAddress uint32, operationLength uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]setup.knows
func setupKnows(handle uint32, operationAddress uint32, operationLength uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]setup.warn
func setupWarn(handle uint32, messageAddress uint32, messageLength uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]setup
func dropSetup(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]answer.admit
func answerAdmit(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]answer.reject
func answerReject(handle uint32, reasonAddress uint32, reasonLength uint32, messageAddress uint32, messageLength uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]answer.defer
func answerDefer(handle uint32, reasonAddress uint32, reasonLength uint32, messageAddress uint32, messageLength uint32, retryAfterMilliseconds uint64)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]answer.shortage
func answerShortage(handle uint32, resourceAddress uint32, resourceLength uint32, requested int64, used int64, capacity int64)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]answer.warn
func answerWarn(handle uint32, messageAddress uint32, messageLength uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]answer.annotate
func answerAnnotate(handle uint32, keyAddress uint32, keyLength uint32, valueAddress uint32, valueLength uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]answer
func dropAnswer(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]image.reference
func imageReference(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]image.place
func imagePlace(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]image.name
func imageName(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]image.registry
func imageRegistry(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]image.repository
func imageRepository(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]image.tag
func imageTag(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]image.digest
func imageDigest(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]image
func dropImage(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]resolved-image.container
func resolvedImageContainer(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]resolved-image.id
func resolvedImageID(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]resolved-image.digest
func resolvedImageDigest(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]resolved-image.size
func resolvedImageSize(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]resolved-image.credentials
func resolvedImageCredentials(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]resolved-image
func dropResolvedImage(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container-port.name
func containerPortName(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container-port.number
func containerPortNumber(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container-port.protocol
func containerPortProtocol(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container-port.host-port
func containerPortHostPort(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]container-port
func dropContainerPort(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]host-port.address
func hostPortAddress(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]host-port.protocol
func hostPortProtocol(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]host-port.number
func hostPortNumber(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]host-port
func dropHostPort(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]mount.volume
func mountVolume(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]mount.path
func mountPath(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]mount.sub-path
func mountSubPath(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]mount.read-only
func mountReadOnly(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]mount.is-device
func mountIsDevice(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]mount
func dropMount(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.name
func containerName(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.kind
func containerKind(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.place
func containerPlace(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.image
func containerImage(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.pull-policy
func containerPullPolicy(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.resources
func containerResources(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.request
func containerRequest(handle uint32, resourceAddress uint32, resourceLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.limit
func containerLimit(handle uint32, resourceAddress uint32, resourceLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.privileged
func containerPrivileged(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.run-as-non-root
func containerRunAsNonRoot(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.run-as-user
func containerRunAsUser(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.run-as-group
func containerRunAsGroup(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.allow-privilege-escalation
func containerAllowPrivilegeEscalation(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.read-only-root-filesystem
func containerReadOnlyRootFilesystem(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.seccomp-profile
func containerSeccompProfile(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.apparmor-profile
func containerAppArmorProfile(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.added-capabilities
func containerAddedCapabilities(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.dropped-capabilities
func containerDroppedCapabilities(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.env-names
func containerEnvNames(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.ports
func containerPorts(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.mounts
func containerMounts(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]container.pointer
func containerPointer(handle uint32, pathAddress uint32, pathLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]container
func dropContainer(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]volume.name
func volumeName(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]volume.kind
func volumeKind(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]volume.host-path
func volumeHostPath(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]volume.image
func volumeImage(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]volume.pointer
func volumePointer(handle uint32, pathAddress uint32, pathLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]volume
func dropVolume(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]owner.api-version
func ownerAPIVersion(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]owner.kind
func ownerKind(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]owner.name
func ownerName(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]owner.uid
func ownerUID(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]owner.is-controller
func ownerIsController(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]owner
func dropOwner(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.namespace
func podNamespace(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.name
func podName(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.uid
func podUID(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.source
func podSource(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.label
func podLabel(handle uint32, keyAddress uint32, keyLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.labels
func podLabels(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.annotation
func podAnnotation(handle uint32, keyAddress uint32, keyLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.annotations
func podAnnotations(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.owners
func podOwners(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.service-account
func podServiceAccount(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.has-service-account-token
func podHasServiceAccountToken(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.priority
func podPriority(handle uint32) int32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.priority-class
func podPriorityClass(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.runtime-class
func podRuntimeClass(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.runtime-handler
func podRuntimeHandler(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.qos
func podQOS(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.host-network
func podHostNetwork(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.host-pid
func podHostPID(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.host-ipc
func podHostIPC(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.host-users
func podHostUsers(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.containers
func podContainers(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.images
func podImages(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.volumes
func podVolumes(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.resources
func podResources(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.request
func podRequest(handle uint32, resourceAddress uint32, resourceLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.limit
func podLimit(handle uint32, resourceAddress uint32, resourceLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.host-ports
func podHostPorts(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.json
func podJSON(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]pod.pointer
func podPointer(handle uint32, pathAddress uint32, pathLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]pod
func dropPod(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]taint.key
func taintKey(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]taint.value
func taintValue(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]taint.effect
func taintEffect(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]taint
func dropTaint(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]condition.kind
func conditionKind(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]condition.status
func conditionStatus(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]condition.reason
func conditionReason(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]condition.message
func conditionMessage(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]condition
func dropCondition(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.name
func nodeName(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.label
func nodeLabel(handle uint32, keyAddress uint32, keyLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.labels
func nodeLabels(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.taints
func nodeTaints(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.condition
func nodeCondition(handle uint32, kindAddress uint32, kindLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.conditions
func nodeConditions(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.resources
func nodeResources(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.capacity
func nodeCapacity(handle uint32, resourceAddress uint32, resourceLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.allocatable
func nodeAllocatable(handle uint32, resourceAddress uint32, resourceLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.requested
func nodeRequested(handle uint32, resourceAddress uint32, resourceLength uint32) int64

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.available
func nodeAvailable(handle uint32, resourceAddress uint32, resourceLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.used
func nodeUsed(handle uint32, resourceAddress uint32, resourceLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.used-host-ports
func nodeUsedHostPorts(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.fact
func nodeFact(handle uint32, keyAddress uint32, keyLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.facts
func nodeFacts(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.devices
func nodeDevices(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.json
func nodeJSON(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]node.pointer
func nodePointer(handle uint32, pathAddress uint32, pathLength uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]node
func dropNode(handle uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]request.operation
func requestOperation(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]request.now
func requestNow(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]request.pod
func requestPod(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]request.old-pod
func requestOldPod(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]request.image
func requestImage(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]request.node
func requestNode(handle uint32) uint32

//go:wasmimport witlet:admission/admission-types@0.2.0 [method]request.other-pods
func requestOtherPods(handle uint32, result uint32)

//go:wasmimport witlet:admission/admission-types@0.2.0 [resource-drop]request
func dropRequest(handle uint32)
