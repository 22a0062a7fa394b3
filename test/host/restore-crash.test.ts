import { cutRestorations } from "../helpers/restore-cuts.ts";

cutRestorations("before");
