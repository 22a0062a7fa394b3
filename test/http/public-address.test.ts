import { describe, expect, it } from "@jest/globals";
import { isNeverAllowed, isPrivateName, isPublicAddress } from "#http/public-address.ts";

/** Written by hand from the registries of IANA: the edges of each range, and each way to write or wrap an address. */
const PRIVATE = [
  ...[
    "0.0.0.0",
    "0.255.255.255",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
  ],
  ...["169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.1", "192.0.2.1"],
  ...["192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.7", "203.0.113.9"],
  ...[
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
  ],
  ...["::", "::1", "::127.0.0.1", "::7f00:1", "::8.8.8.8", "::808:808"],
  ...["::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1"],
  ...["64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8", "64:ff9b:1::1"],
  ...[
    "2002:7f00:1::",
    "2002:808:808::1",
    "2001::1",
    "2001:0:808:808::1",
    "2001:db8::1",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
  ],
  ...[
    "100::1",
    "fc00::1",
    "fd00::1",
    "fdff::1",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
  ],
  ...["4000::1", "5f00::1", "3fff::1", "1fff::1", "2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:a00:1"],
  ...["", "localhost", "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "8.8.8", "1.1.1.1/32", "::g"],
];
const PUBLIC = [
  ...[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
  ],
  ...[
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
  ],
  ...["198.20.0.0", "223.255.255.255", "168.63.129.15"],
  ...["2001:4860:4860::8888", "2606:4700:4700::1111", "[2a00:1450:4001::200e]", "2000::1"],
  ...["::ffff:8.8.8.8", "::ffff:808:808", "64:ff9b::8.8.8.8", "64:ff9b::808:808"],
];

describe("isPublicAddress", () => {
  it.each(PUBLIC)("is %s", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each(PRIVATE)("is not %j", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe("isNeverAllowed", () => {
  it("matches cloud metadata in all forms", () => {
    for (const address of [
      "169.254.169.254",
      "169.254.0.1",
      "::ffff:169.254.169.254",
      "64:ff9b::a9fe:a9fe",
      "168.63.129.16",
    ])
      expect(isNeverAllowed(address)).toBe(true);
    for (const address of ["127.0.0.1", "192.168.1.5", "::1", "fd00::1"]) expect(isNeverAllowed(address)).toBe(false);
  });
});

describe("isPrivateName", () => {
  it.each(["localhost", "LOCALHOST.", "a.localhost", "printer", "printer.", "nas.local", "db.internal", "x.home.arpa"])(
    "is %s",
    (name) => {
      expect(isPrivateName(name)).toBe(true);
    },
  );

  it.each(["example.com", "example.com.", "localhost.example.com", "mylocal.de"])("is not %s", (name) => {
    expect(isPrivateName(name)).toBe(false);
  });
});
