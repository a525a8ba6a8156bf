package noderuntime

import (
	"encoding/binary"
	"fmt"
)

// The pause program: ignore SIGCHLD, so that the kernel reaps children, then sleep forever.
var pauseCode = map[string][]byte{
	"amd64": {
		0xb8, 0x0d, 0x00, 0x00, 0x00, // mov eax, 13 (rt_sigaction)
		0xbf, 0x11, 0x00, 0x00, 0x00, // mov edi, 17 (SIGCHLD)
		0x48, 0x8d, 0x35, 0x17, 0x00, 0x00, 0x00, // lea rsi, [rip+23] (the action below)
		0x31, 0xd2, // xor edx, edx
		0x41, 0xba, 0x08, 0x00, 0x00, 0x00, // mov r10d, 8
		0x0f, 0x05, // syscall
		0xb8, 0x22, 0x00, 0x00, 0x00, // again: mov eax, 34 (pause)
		0x0f, 0x05, // syscall
		0xeb, 0xf7, // jmp again
		0x90, 0x90, 0x90, 0x90,
	},
	"arm64": words(
		0xd28010c8, // mov x8, 134 (rt_sigaction)
		0xd2800220, // mov x0, 17 (SIGCHLD)
		0x10000181, // adr x1, 48 (the action below)
		0xd2800002, // mov x2, 0
		0xd2800103, // mov x3, 8
		0xd4000001, // svc 0
		0xd2800928, // again: mov x8, 73 (ppoll)
		0xd2800000, // mov x0, 0
		0xd2800001, // mov x1, 0
		0xd2800002, // mov x2, 0
		0xd2800003, // mov x3, 0
		0xd4000001, // svc 0
		0x17fffffa, // b again
		0xd503201f, // nop
	),
}

func words(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// ignoreAction is a struct sigaction with the handler SIG_IGN; it follows the code.
var ignoreAction = append([]byte{1}, make([]byte, 31)...)

// PauseBinary returns an ELF file of a static Linux program that waits forever.
func PauseBinary(arch string) ([]byte, error) {
	machine := map[string]uint16{"amd64": 62, "arm64": 183}[arch]
	code, ok := pauseCode[arch]
	if !ok {
		return nil, fmt.Errorf("noderuntime: no pause program for %s", arch)
	}
	const headers, base = 64 + 56, 0x400000
	size := uint64(headers + len(code) + len(ignoreAction))
	le := binary.LittleEndian
	b := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	b = le.AppendUint16(b, 2) // executable
	b = le.AppendUint16(b, machine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, base+headers) // entry
	b = le.AppendUint64(b, 64)           // program headers
	b = le.AppendUint64(b, 0)            // no sections
	b = le.AppendUint32(b, 0)
	b = le.AppendUint16(b, 64)
	b = le.AppendUint16(b, 56)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, 1) // load
	b = le.AppendUint32(b, 5) // readable, executable
	b = le.AppendUint64(b, 0)
	b = le.AppendUint64(b, base)
	b = le.AppendUint64(b, base)
	b = le.AppendUint64(b, size)
	b = le.AppendUint64(b, size)
	b = le.AppendUint64(b, 0x1000)
	b = append(b, code...)
	return append(b, ignoreAction...), nil
}
