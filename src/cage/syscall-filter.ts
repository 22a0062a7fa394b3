/**
 * syscall-filter.ts -- a filter of system calls for bubblewrap's --seccomp, as a program of classic BPF.
 *
 * It denies the doors of the kernel that no reader needs, sockets without a network, and new processes to a command that
 * runs none. That ends a fork bomb also for root, to whom the system's limit of processes does not apply.
 */
import type { CagedCommand } from "./cage.ts";

interface Architecture {
  /** AUDIT_ARCH_* of the kernel. */
  readonly id: number;
  readonly calls: Readonly<Record<string, number>>;
}

/** Numbers that are equal on all architectures. */
const COMMON = {
  ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, open_tree: 428, move_mount: 429 },
  ...{ fsopen: 430, fsmount: 432, clone3: 435, pidfd_getfd: 438, mount_setattr: 442 },
} as const;
const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    id: 0xc000003e,
    calls: {
      ...COMMON,
      ...{ socket: 41, clone: 56, fork: 57, vfork: 58, ptrace: 101, pivot_root: 155, acct: 163, mount: 165 },
      ...{ umount2: 166, swapon: 167, reboot: 169, init_module: 175, delete_module: 176, quotactl: 179 },
      ...{ kexec_load: 246, add_key: 248, request_key: 249, keyctl: 250, unshare: 272, perf_event_open: 298 },
      ...{ open_by_handle_at: 304, setns: 308, process_vm_readv: 310, process_vm_writev: 311, kcmp: 312 },
      ...{ finit_module: 313, bpf: 321, userfaultfd: 323 },
    },
  },
  arm64: {
    id: 0xc00000b7,
    calls: {
      ...COMMON,
      ...{ umount2: 39, mount: 40, pivot_root: 41, quotactl: 60, acct: 89, unshare: 97, kexec_load: 104 },
      ...{
        init_module: 105,
        delete_module: 106,
        ptrace: 117,
        reboot: 142,
        socket: 198,
        add_key: 217,
        request_key: 218,
      },
      ...{ keyctl: 219, clone: 220, swapon: 224, perf_event_open: 241, open_by_handle_at: 265, setns: 268 },
      ...{ process_vm_readv: 270, process_vm_writev: 271, kcmp: 272, finit_module: 273, bpf: 280, userfaultfd: 282 },
    },
  },
};

const [LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_BITS, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [ALLOW, KILL, NOT_PERMITTED, NOT_IMPLEMENTED] = [0x7fff0000, 0x80000000, 0x00050001, 0x00050026];
/** Offsets in the kernel's `seccomp_data`. */
const [CALL_NUMBER, ARCHITECTURE, FIRST_ARGUMENT] = [0, 4, 16];
/** AF_UNIX. */
const UNIX_SOCKET = 1;
const CLONE_THREAD = 0x00010000;
/** Calls of the x32 ABI have this bit, and numbers of their own. */
const X32_BIT = 0x40000000;

/** Returns undefined on a machine whose call numbers are not known here. */
export function syscallFilter({
  network,
  runsPrograms,
}: Pick<CagedCommand, "network" | "runsPrograms">): Buffer | undefined {
  const known = ARCHITECTURES[process.arch];
  if (!known) return undefined;
  const { clone = 0, clone3 = 0, fork, vfork, socket, ...doors } = known.calls;
  const denied = [
    ...Object.values(doors),
    ...(network === "none" ? [socket] : []),
    ...(runsPrograms ? [] : [fork, vfork]),
  ].filter((number) => number !== undefined);
  return Buffer.concat([
    instruction(LOAD, ARCHITECTURE),
    instruction(JUMP_IF_EQUAL, known.id, 1, 0),
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
