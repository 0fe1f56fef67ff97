declare module 'witlet:probe/types@0.1.0' {
  /**
   * Which of a container's probes runs.
   * # Variants
   * 
   * ## `"startup"`
   * 
   * ## `"readiness"`
   * 
   * ## `"liveness"`
   */
  export type ProbeKind = 'startup' | 'readiness' | 'liveness';
  /**
   * Which pod.
   */
  export interface PodRef {
    namespace: string,
    name: string,
    uid: string,
  }
  /**
   * A port that the container's spec names.
   */
  export interface NamedPort {
    name: string,
    port: number,
    /**
     * `TCP`, `UDP` or `SCTP`.
     */
    protocol: string,
  }
  /**
   * What was found. The texts are for people: the host cuts them at 10 KiB and shows them in events.
   */
  export type Outcome = OutcomeSuccess | OutcomeWarning | OutcomeFailure;
  /**
   * It passes.
   */
  export interface OutcomeSuccess {
    tag: 'success',
    val: string,
  }
  /**
   * It passes, with something that somebody should know (event `ProbeWarning`).
   */
  export interface OutcomeWarning {
    tag: 'warning',
    val: string,
  }
  /**
   * It fails.
   */
  export interface OutcomeFailure {
    tag: 'failure',
    val: string,
  }
  
  export class Target implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Its pod.
    */
    pod(): PodRef;
    /**
    * The whole pod as JSON. Decoding it costs more than most probes: prefer the getters and `pod-pointer`.
    */
    podJson(): string;
    /**
    * The value at a JSON pointer (RFC 6901) into the pod, such as `/metadata/labels/app`, as JSON text; none
    * where the pod has nothing.
    */
    podPointer(path: string): string | undefined;
    /**
    * Name of the container in the pod's spec.
    */
    container(): string;
    /**
    * Its id at the runtime, without the runtime's scheme.
    */
    containerId(): string;
    /**
    * How often it was restarted.
    */
    restarts(): number;
    /**
    * The pod's addresses, the primary one first; empty while it has none.
    */
    podIps(): Array<string>;
    /**
    * The node's addresses, the primary one first.
    */
    hostIps(): Array<string>;
    /**
    * Ports that the container's spec names, in its order.
    */
    namedPorts(): Array<NamedPort>;
    /**
    * Which probe runs.
    */
    kind(): ProbeKind;
    /**
    * Milliseconds until the probe's time is over: at the first call the probe's `timeoutSeconds`, less each time.
    * A probe that still waits for something then counts as failed.
    */
    remainingMilliseconds(): bigint;
    [Symbol.dispose](): void;
  }
}
