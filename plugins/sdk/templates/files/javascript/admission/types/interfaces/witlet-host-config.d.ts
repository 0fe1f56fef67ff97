declare module 'witlet:host/config@0.1.0' {
  /**
   * The value of `config:` in the plugin's entry of the PluginConfiguration, as JSON text; `null` if there is none.
   */
  export function get(): string;
}
