/// <reference path="./witlet-admission-types.d.ts" />
declare module 'witlet:admission/handler@0.1.0' {
  /**
   * Called when the plugin is loaded or its configuration changes, with what `witlet:host/config` returns. An
   * error refuses the plugin, in these words.
   */
  export function validate(config: string): void;
  /**
   * The verdict on a pod. It must be a function of the request and the configuration: the same question gets
   * the same answer, in a fresh instance and in a used one. An error is handled by the plugin's failure policy,
   * as a trap or a timeout is.
   */
  export function admit(request: Request): Verdict;
  export type Request = import('witlet:admission/types@0.1.0').Request;
  export type Verdict = import('witlet:admission/types@0.1.0').Verdict;
}
