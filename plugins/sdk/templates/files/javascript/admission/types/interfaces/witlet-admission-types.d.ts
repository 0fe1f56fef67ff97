declare module 'witlet:admission/types@0.1.0' {
  /**
   * Why admission is asked.
   * # Variants
   * 
   * ## `"add"`
   * 
   * The pod is new to this node.
   * ## `"resize"`
   * 
   * A running pod asks for other resources.
   */
  export type Operation = 'add' | 'resize';
  /**
   * A moment: seconds and nanoseconds since 1970-01-01T00:00:00Z.
   */
  export interface Datetime {
    seconds: bigint,
    nanoseconds: number,
  }
  /**
   * Which pod.
   */
  export interface PodRef {
    namespace: string,
    name: string,
    uid: string,
  }
  /**
   * Quality of service class, as Kubernetes derives it from requests and limits.
   * # Variants
   * 
   * ## `"guaranteed"`
   * 
   * ## `"burstable"`
   * 
   * ## `"best-effort"`
   */
  export type QosClass = 'guaranteed' | 'burstable' | 'best-effort';
  /**
   * A resource and how much of it. `cpu` is in milli-CPU, everything else in base units (bytes, pieces).
   */
  export interface Quantity {
    resource: string,
    amount: bigint,
  }
  /**
   * A port on the host.
   */
  export interface HostPort {
    /**
     * Address; `0.0.0.0` stands for all.
     */
    ip: string,
    /**
     * `TCP`, `UDP` or `SCTP`.
     */
    protocol: string,
    port: number,
  }
  /**
   * When a container runs.
   * # Variants
   * 
   * ## `"init"`
   * 
   * Before the others, to its end.
   * ## `"sidecar"`
   * 
   * An init container with `restartPolicy: Always`.
   * ## `"app"`
   * 
   * One of `spec.containers`.
   * ## `"ephemeral"`
   * 
   * Added to a running pod.
   */
  export type ContainerKind = 'init' | 'sidecar' | 'app' | 'ephemeral';
  /**
   * One container of a pod.
   */
  export interface Container {
    name: string,
    kind: ContainerKind,
    /**
     * As written in the spec; empty if the spec names none.
     */
    image: string,
  }
  /**
   * A taint of the node.
   */
  export interface Taint {
    key: string,
    value: string,
    /**
     * `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
     */
    effect: string,
  }
  /**
   * A condition of the node.
   */
  export interface Condition {
    kind: string,
    /**
     * `True`, `False` or `Unknown`.
     */
    status: string,
    reason: string,
    message: string,
  }
  /**
   * The pod may not run here, ever: its phase becomes Failed.
   */
  export interface Rejection {
    /**
     * CamelCase word for `status.reason`: letters and digits, a letter first, at most 128. Anything else makes the
     * verdict an error.
     */
    reason: string,
    /**
     * One sentence for people; cut at 4 KiB.
     */
    message: string,
  }
  /**
   * Not now.
   */
  export interface Deferral {
    /**
     * CamelCase word, as in `rejection`.
     */
    reason: string,
    /**
     * One sentence for people; cut at 4 KiB.
     */
    message: string,
    /**
     * Ask again after this many milliseconds. The host waits a second at least and an hour at most, and asks
     * earlier if the node or its pods change.
     */
    retryAfterMilliseconds: bigint,
  }
  /**
   * A resource that doesn't suffice. Units as in `quantity`.
   */
  export interface Shortage {
    /**
     * Name as in a pod's requests; it becomes a part of `status.reason`.
     */
    resource: string,
    /**
     * What the pod asks for.
     */
    requested: bigint,
    /**
     * What the others have.
     */
    used: bigint,
    /**
     * What the node has.
     */
    capacity: bigint,
  }
  /**
   * The answer.
   */
  export type Verdict = VerdictAdmit | VerdictReject | VerdictDefer | VerdictShortage;
  /**
   * Nothing against it.
   */
  export interface VerdictAdmit {
    tag: 'admit',
  }
  /**
   * Never.
   */
  export interface VerdictReject {
    tag: 'reject',
    val: Rejection,
  }
  /**
   * Later.
   */
  export interface VerdictDefer {
    tag: 'defer',
    val: Deferral,
  }
  /**
   * The node lacks resources; not empty, at most 64. The host rejects the pod with the reason `OutOf<resource>` of the first
   * one. For a critical pod the remaining handlers are still asked: if nothing else is against it, the host makes
   * room for it.
   */
  export interface VerdictShortage {
    tag: 'shortage',
    val: Array<Shortage>,
  }
  
  export class Node implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * `metadata.name`
    */
    name(): string;
    /**
    * `metadata.labels`, sorted by key.
    */
    labels(): Array<[string, string]>;
    /**
    * `spec.taints`
    */
    taints(): Array<Taint>;
    /**
    * `status.capacity`, sorted by resource; `pods` is among them.
    */
    capacity(): Array<Quantity>;
    /**
    * `status.allocatable`, sorted by resource; `pods` is among them.
    */
    allocatable(): Array<Quantity>;
    /**
    * What the other admitted pods count for together, sorted by resource; `pods` is their number.
    */
    requested(): Array<Quantity>;
    /**
    * Ports that the other admitted pods take on the host.
    */
    usedHostPorts(): Array<HostPort>;
    /**
    * `status.conditions`
    */
    conditions(): Array<Condition>;
    /**
    * Facts about the machine and the runtime, sorted by key, such as `cgroup.version`. Keys may be added at
    * any time; a key that is missing is unknown.
    */
    facts(): Array<[string, string]>;
    /**
    * Devices that pods can ask for, as a JSON array of `{"resource": …, "id": …, "healthy": …, "numaNodes": […],
    * "pod": …}`; `pod` is the UID of the pod that has it and is missing while nobody does. Empty while no device
    * plugin is there.
    */
    devices(): string;
    /**
    * The whole node as JSON.
    */
    json(): string;
    /**
    * The value at a JSON pointer (RFC 6901), as JSON text; none where the node has nothing.
    */
    pointer(path: string): string | undefined;
    [Symbol.dispose](): void;
  }
  
  export class Pod implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Which pod.
    */
    identity(): PodRef;
    /**
    * The source that brought it: `file`, `http`, `api`, or a plugin's name.
    */
    source(): string;
    /**
    * `metadata.labels`, sorted by key.
    */
    labels(): Array<[string, string]>;
    /**
    * `metadata.annotations`, sorted by key.
    */
    annotations(): Array<[string, string]>;
    /**
    * `spec.priority`, or 0.
    */
    priority(): number;
    /**
    * All containers: init containers and sidecars, app containers, ephemeral containers, each in the spec's order.
    */
    containers(): Array<Container>;
    /**
    * What the pod counts for on the node, by the rules of the scheduler: the greater of app containers together
    * and each init container, sidecars added, plus overhead. Sorted by resource; `pods` isn't among them.
    */
    requests(): Array<Quantity>;
    /**
    * Ports that the pod takes on the host, in the spec's order.
    */
    hostPorts(): Array<HostPort>;
    /**
    * Quality of service class.
    */
    qos(): QosClass;
    /**
    * The whole pod as JSON. Decoding it costs more than the call: prefer the getters and `pointer`.
    */
    json(): string;
    /**
    * The value at a JSON pointer (RFC 6901), such as `/spec/containers/0/image`, as JSON text; none where the
    * pod has nothing.
    */
    pointer(path: string): string | undefined;
    [Symbol.dispose](): void;
  }
  
  export class Request implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Add or resize.
    */
    operation(): Operation;
    /**
    * The time of the decision. All clocks of the plugin stand still at it.
    */
    now(): Datetime;
    /**
    * The pod that asks.
    */
    pod(): Pod;
    /**
    * The node.
    */
    node(): Node;
    /**
    * The pods that were admitted and have not ended, without the one that asks, with their allocated
    * resources; ordered by namespace and name.
    */
    otherPods(): Array<Pod>;
    [Symbol.dispose](): void;
  }
}
