// Package resource holds Quantity, the exact decimal number of the API: CPU
// shares, bytes of memory, counts.
//
// A Quantity is written as a number and a suffix and remembers which family of
// suffixes it was written in:
//
//	DecimalSI        n u m (none) k M G T P E     powers of 1000
//	BinarySI         Ki Mi Gi Ti Pi Ei            powers of 1024
//	DecimalExponent  e3 e-6 E9                    powers of 10
//
// It guarantees:
//
//   - Numbers are exact. Nothing finer than 1n (10^-9) is kept: parsing rounds
//     away from zero.
//   - The canonical text has no fraction and the largest suffix that allows
//     that: "0.5" is "500m", "1536Mi" stays, "2048Mi" is "2Gi".
//   - A Quantity is 24 bytes and is copied by plain assignment; copies never
//     share state that can change.
//   - Parsing, printing, adding and comparing allocate nothing as long as the
//     number fits into 64 bits (String allocates its result).
//
// Compare with Cmp or Equal, not with ==: "1000m" and "1" are the same number
// in two representations.
//
// Limits: texts longer than 4096 bytes and exponents above 4096 are refused,
// so that no input can make a later comparison or addition expensive. BinarySI
// texts are capped at 2^63-1. Numbers beyond the suffix E stay exact ("1000E");
// conversions to int64 that overflow give the nearest int64.
package resource
