declare module 'witlet:pod-source/types@0.1.0' {
  /**
   * What the source has now, all of it. Nothing to tell and nothing there are different things: pods of a source
   * that says `empty` end.
   */
  export type Snapshot = SnapshotUnchanged | SnapshotPods | SnapshotEmpty;
  /**
   * The same as at the last poll that gave pods or `empty`.
   */
  export interface SnapshotUnchanged {
    tag: 'unchanged',
  }
  /**
   * These pods and no others: manifests as JSON or YAML text, one pod each; not empty. `pods` of no manifests is
   * an error, never taken for `empty`.
   */
  export interface SnapshotPods {
    tag: 'pods',
    val: Array<string>,
  }
  /**
   * No pods.
   */
  export interface SnapshotEmpty {
    tag: 'empty',
  }
  /**
   * The answer to a poll.
   */
  export interface PollResult {
    snapshot: Snapshot,
    /**
     * Handed to the next poll, also after a restart of the agent if the source has a state folder; at most 4 KiB.
     */
    cursor?: string,
    /**
     * When the source wants to be asked again; none leaves it to the configured interval. The host waits 100
     * milliseconds at least and an hour at most.
     */
    nextPollMilliseconds?: bigint,
  }
  /**
   * Why the source can't tell what it has. Its last pods go on.
   */
  export interface SourceError {
    /**
     * CamelCase word for the event: letters and digits, a letter first, at most 128. `Unavailable`, `Denied` and
     * `Invalid` are used by the shipped ones.
     */
    reason: string,
    /**
     * One sentence for people; cut at 4 KiB.
     */
    message: string,
    /**
     * When it wants to be asked again; none leaves it to the host's back-off.
     */
    retryAfterMilliseconds?: bigint,
  }
  /**
   * How one of the source's pods fares.
   */
  export interface PodStatus {
    namespace: string,
    /**
     * As the source named it, without the node's name.
     */
    name: string,
    uid: string,
    /**
     * `status` of the pod as JSON; none once the pod is gone.
     */
    status?: string,
  }
}
