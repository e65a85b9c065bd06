declare module '*.svg' {
  const shapes: [string, Record<string, string>][];
  export default shapes;
}
