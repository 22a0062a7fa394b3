/**
 * event-stream.ts -- server-sent events out of text that comes in pieces (WHATWG HTML, 9.2.6): only their data counts.
 *
 * Comments are the pings of a router that waits, and no data. Lines end in LF, CRLF or CR. Some servers leave out the empty
 * line between two events: then each line that is whole JSON stands for itself. Linear in what comes, whatever the pieces.
 */
export interface EventReader {
  push(text: string): void;
  /** The stream has ended, perhaps without the empty line behind its last event. */
  end(): void;
}

export function createEventReader(onData: (data: string) => void): EventReader {
  /** Pieces of a line without its end. */
  let partial: string[] = [];
  let data: string[] = [];
  /** A line feed that follows belongs to it. */
  let endedInReturn = false;

  function push(piece: string): void {
    const text = (endedInReturn && piece.startsWith("\n") ? piece.slice(1) : piece).replace(/\r\n?/g, "\n");
    if (piece !== "") endedInReturn = piece.endsWith("\r");
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
      const rest = text.slice(from, end);
      takeLine(partial.length > 0 ? partial.join("") + rest : rest);
      partial = [];
      from = end + 1;
    }
    if (from < text.length) partial.push(text.slice(from));
  }

  function takeLine(text: string): void {
    if (text === "") dispatch();
    else if (text.startsWith("data:")) data.push(text.startsWith("data: ") ? text.slice(6) : text.slice(5));
  }

  function dispatch(): void {
    const lines = data;
    data = [];
    if (lines.length === 0) return;
    const events = lines.length > 1 && lines.every(standsAlone) ? lines : [lines.join("\n")];
    for (const event of events) onData(event);
  }

  return {
    push,
    end: () => {
      if (partial.length > 0) takeLine(partial.join(""));
      partial = [];
      dispatch();
    },
  };
}

const standsAlone = (line: string): boolean => line === "[DONE]" || (line.startsWith("{") && line.endsWith("}"));

/** Whether a body begins as a stream of events does; undefined while too little of it is known. */
export function isEventStream(head: string): boolean | undefined {
  const begin = head.replace(/^[\s\ufeff]+/, "").slice(0, 6);
  if (/^(?::|data:|event:|id:|retry:)/.test(begin)) return true;
  const isOpen = ["data:", "event:", "id:", "retry:"].some((field) => field.startsWith(begin));
  return isOpen ? undefined : false;
}
