/// <reference path="./witlet-probe-types.d.ts" />
declare module 'witlet:probe/prober@0.1.0' {
  /**
   * Called when the plugin is loaded or its configuration changes, with what `witlet:host/config` returns. An error
   * refuses the plugin, in these words.
   */
  export function validate(config: string): void;
  /**
   * Whether a probe with these parameters makes sense. Asked before the first probe with them. An error fails each
   * probe that has them, in these words.
   */
  export function checkParameters(parameters: string): void;
  /**
   * Probes once. `parameters` is a JSON object, with `$(VAR)` expanded from the container's plain environment
   * and with names of ports replaced by their numbers; `null` if there are none. An error means that nothing was
   * found out: the probe is tried again up to two times, and then its result stays what it was.
   */
  export function probe(target: Target, parameters: string): Outcome;
  export type Target = import('witlet:probe/types@0.1.0').Target;
  export type Outcome = import('witlet:probe/types@0.1.0').Outcome;
}
