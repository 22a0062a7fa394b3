import { describe, expect, it } from "@jest/globals";
import { findSecrets, loadSettings } from "#config/load.ts";
import { readDefaults, type Settings } from "#config/settings.ts";

const settings = readDefaults() as Settings;

describe("a secret of the environment", () => {
  it.each(["finished", "example", "policy", "true", "123456", "x-1"])(
    "is not %s: taking that out of every text would take the texts apart",
    (value) => {
      expect(findSecrets(settings, { DB_PASSWORD: value })).toEqual([]);
    },
  );
  it.each(["sk-planted-0123", "correct horse battery", "hunter2", "12345678"])("is %s", (value) => {
    expect(findSecrets(settings, { DB_PASSWORD: value })).toEqual([value]);
  });
});

describe("a base URL that cannot be used", () => {
  it.each(["ftp://user:hunter2-hunter2@host/v1", "ftp://host/v1?api-key=hunter2-hunter2"])(
    "is shown without what may be secret in it: %s",
    async (url) => {
      await expect(loadSettings({ env: { OPENAI_BASE_URL: url } })).rejects.toThrow(
        expect.objectContaining({ code: "GOALD_CONFIG", message: expect.not.stringContaining("hunter2") }),
      );
    },
  );
});
