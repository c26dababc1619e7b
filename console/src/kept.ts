// What this browser keeps for the next time. One that keeps nothing has none of it.

export function kept(name: string): string {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

export function keep(name: string, text: string): void {
  try {
    localStorage.setItem(name, text);
  } catch { /* it keeps nothing */ }
}
