;; int8-scan.wat -- dot products of one query with many rows, eight bits per component.
;;
;; The query has 16-bit components, a row 8-bit components; both have `stride` components,
;; a multiple of 16. Rows follow each other from `row`; each product is written to `out` as
;; an i32. The caller keeps sums below 2^31 by |query| <= 2047, |row| <= 127 and
;; stride <= 8192. int8-scan.ts holds the assembled bytes.
(module
  (import "scan" "memory" (memory 1))
  (func (export "scan")
    (param $query i32) (param $row i32) (param $stride i32) (param $count i32) (param $out i32)
    (local $outEnd i32) (local $rowEnd i32) (local $at i32)
    (local $bytes v128) (local $low v128) (local $high v128)
    (local.set $outEnd (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $nextRow
        (br_if $done (i32.ge_u (local.get $out) (local.get $outEnd)))
        (local.set $low (v128.const i32x4 0 0 0 0))
        (local.set $high (v128.const i32x4 0 0 0 0))
        (local.set $at (local.get $query))
        (local.set $rowEnd (i32.add (local.get $row) (local.get $stride)))
        (loop $nextSixteen
          (local.set $bytes (v128.load (local.get $row)))
          (local.set $low
            (i32x4.add (local.get $low)
              (i32x4.dot_i16x8_s (v128.load (local.get $at)) (i16x8.extend_low_i8x16_s (local.get $bytes)))))
          (local.set $high
            (i32x4.add (local.get $high)
              (i32x4.dot_i16x8_s (v128.load offset=16 (local.get $at)) (i16x8.extend_high_i8x16_s (local.get $bytes)))))
          (local.set $at (i32.add (local.get $at) (i32.const 32)))
          (local.set $row (i32.add (local.get $row) (i32.const 16)))
          (br_if $nextSixteen (i32.lt_u (local.get $row) (local.get $rowEnd))))
        (local.set $low (i32x4.add (local.get $low) (local.get $high)))
        (i32.store (local.get $out)
          (i32.add
            (i32.add (i32x4.extract_lane 0 (local.get $low)) (i32x4.extract_lane 1 (local.get $low)))
            (i32.add (i32x4.extract_lane 2 (local.get $low)) (i32x4.extract_lane 3 (local.get $low)))))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (br $nextRow)))))
