/**
 * syscall-filter.ts -- a filter of system calls for bubblewrap's --seccomp, as a program of classic BPF. It denies the
 * doors of the kernel that no reader needs, sockets without a network, and new processes to a command that runs none.
 * That ends a fork bomb also for root, to whom the system's limit of processes does not apply.
 */
import type { CagedCommand } from "./cage.ts";

/** AUDIT_ARCH_* of the kernel, by Node's name. */
const ARCHITECTURES: Readonly<Record<string, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** Numbers on x64 and on arm64, which has no `fork` and `vfork`. */
const CALLS: Readonly<Record<string, readonly [x64: number, arm64?: number]>> = {
  fork: [57],
  vfork: [58],
  socket: [41, 198],
  clone: [56, 220],
  ptrace: [101, 117],
  pivot_root: [155, 41],
  acct: [163, 89],
  mount: [165, 40],
  umount2: [166, 39],
  swapon: [167, 224],
  reboot: [169, 142],
  init_module: [175, 105],
  delete_module: [176, 106],
  quotactl: [179, 60],
  kexec_load: [246, 104],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  unshare: [272, 97],
  perf_event_open: [298, 241],
  open_by_handle_at: [304, 265],
  setns: [308, 268],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  finit_module: [313, 273],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsmount: [432, 432],
  clone3: [435, 435],
  pidfd_getfd: [438, 438],
  mount_setattr: [442, 442],
};

/** Codes of instructions. */
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_BITS = 0x45;
const RETURN = 0x06;
/** A filter returns one of these. */
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const NOT_PERMITTED = 0x00050001;
const NOT_IMPLEMENTED = 0x00050026;
/** Offsets in the kernel's `seccomp_data`. */
const CALL_NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;
/** AF_UNIX. */
const UNIX_SOCKET = 1;
const CLONE_THREAD = 0x00010000;
/** Calls of the x32 ABI have this bit, and numbers of their own. */
const X32_BIT = 0x40000000;

/** Returns undefined on a machine whose call numbers are not known here. */
export function syscallFilter(command: Pick<CagedCommand, "network" | "runsPrograms">): Buffer | undefined {
  const { network, runsPrograms } = command;
  const architecture = ARCHITECTURES[process.arch];
  if (architecture === undefined) return undefined;
  const ofArchitecture = process.arch === "x64" ? 0 : 1;
  const numbers = Object.entries(CALLS).map(([name, known]) => [name, known[ofArchitecture]] as const);
  const { clone = 0, clone3 = 0, fork, vfork, socket, ...doors } = Object.fromEntries(numbers);
  const denied = [
    ...Object.values(doors),
    ...(network === "none" ? [socket] : []),
    ...(runsPrograms ? [] : [fork, vfork]),
  ].filter((number) => number !== undefined);
  return Buffer.concat([
    instruction(LOAD, ARCHITECTURE),
    instruction(JUMP_IF_EQUAL, architecture, 1, 0),
    instruction(RETURN, KILL),
    instruction(LOAD, CALL_NUMBER),
    ...(process.arch === "x64" ? refuse(JUMP_IF_AT_LEAST, X32_BIT, NOT_PERMITTED) : []),
    ...denied.flatMap((number) => refuse(JUMP_IF_EQUAL, number, NOT_PERMITTED)),
    // Its flags are behind a pointer that no filter can follow. The C library falls back to clone.
    ...refuse(JUMP_IF_EQUAL, clone3, NOT_IMPLEMENTED),
    ...(network === "unix" && socket !== undefined ? refuseOtherSockets(socket) : []),
    ...(runsPrograms ? [] : refuseProcesses(clone)),
    instruction(RETURN, ALLOW),
  ]);
}

const refuse = (jump: number, operand: number, result: number): readonly Buffer[] => [
  instruction(jump, operand, 0, 1),
  instruction(RETURN, result),
];

/** Permits Unix sockets. */
const refuseOtherSockets = (socket: number): readonly Buffer[] => [
  instruction(JUMP_IF_EQUAL, socket, 0, 4),
  instruction(LOAD, FIRST_ARGUMENT),
  instruction(JUMP_IF_EQUAL, UNIX_SOCKET, 1, 0),
  instruction(RETURN, NOT_PERMITTED),
  instruction(LOAD, CALL_NUMBER),
];

/** Permits threads. */
const refuseProcesses = (clone: number): readonly Buffer[] => [
  instruction(JUMP_IF_EQUAL, clone, 0, 3),
  instruction(LOAD, FIRST_ARGUMENT),
  instruction(JUMP_IF_BITS, CLONE_THREAD, 1, 0),
  instruction(RETURN, NOT_PERMITTED),
];

/** A `sock_filter` of the kernel. The jumps are counts of instructions to skip. */
function instruction(code: number, operand: number, ifTrue = 0, ifFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(operand >>> 0, 4);
  return bytes;
}
