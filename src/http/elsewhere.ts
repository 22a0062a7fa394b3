/** elsewhere.ts -- separates public addresses of other machines from those of this machine, some of which may be public. */
import { networkInterfaces } from "node:os";
import { canonicalizeAddress, isPublicAddress } from "./public-address.ts";

/** `ownAddresses`: addresses of this machine; by default those of its network interfaces, read at each check. */
export const checkElsewhere =
  (ownAddresses: () => readonly string[] = listOwnAddresses) =>
  (address: string): boolean =>
    isPublicAddress(address) && !ownAddresses().map(canonicalizeAddress).includes(canonicalizeAddress(address));

const listOwnAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((card = []) => card.map(({ address }) => address));
