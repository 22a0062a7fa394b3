/** no-network.child.ts -- loaded first, it refuses every socket of the process, and says so on standard error. */
import dns from "node:dns";
import net from "node:net";

function refuse(): never {
  console.error("A socket was opened.");
  throw new Error("There is no network here.");
}
net.Socket.prototype.connect = refuse;
dns.lookup = refuse as unknown as typeof dns.lookup;
