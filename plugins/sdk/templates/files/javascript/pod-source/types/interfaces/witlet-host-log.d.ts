declare module 'witlet:host/log@0.1.0' {
  /**
   * Writes one line. Fields are names and values for structured logs. The host bounds the length of a line, the
   * number of its fields and the number of lines per call; what exceeds the bounds is cut and counted, never an
   * error.
   */
  export function write(level: Level, message: string, fields: Array<[string, string]>): void;
  /**
   * How much a line matters.
   * # Variants
   * 
   * ## `"trace"`
   * 
   * ## `"debug"`
   * 
   * ## `"info"`
   * 
   * ## `"warn"`
   * 
   * ## `"error"`
   */
  export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';
}
