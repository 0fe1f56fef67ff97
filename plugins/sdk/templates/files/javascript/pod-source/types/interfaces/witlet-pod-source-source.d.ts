/// <reference path="./witlet-pod-source-types.d.ts" />
declare module 'witlet:pod-source/source@0.1.0' {
  /**
   * Called when the plugin is loaded or its configuration changes, with what `witlet:host/config` returns. An error
   * refuses the plugin, in these words.
   */
  export function validate(config: string): void;
  /**
   * What the source has now. `cursor` is what the last successful poll returned; none at the first one. It may wait
   * for news (a long poll), within the plugin's timeout.
   */
  export function poll(cursor: string | undefined): PollResult;
  export type PollResult = import('witlet:pod-source/types@0.1.0').PollResult;
  export type SourceError = import('witlet:pod-source/types@0.1.0').SourceError;
}
