/** no-network.child.ts -- loaded by `node --import`: refuses every socket of the process, with a line on standard error. */
import dns from "node:dns";
import net from "node:net";

function refuse(): never {
  console.error("A socket was opened.");
  throw new Error("There is no network here.");
}
net.Socket.prototype.connect = refuse;
dns.lookup = refuse as unknown as typeof dns.lookup;
