// bcryptprimitives.dll for a Wine that lacks it. Every Go program from Go 1.21
// on asks it for random bytes and does not start without it.
#include <windows.h>

// RtlGenRandom, under the name advapi32.dll exports it by.
BOOLEAN WINAPI SystemFunction036(PVOID buffer, ULONG size);

// ProcessPrng fills buffer with random bytes. Its size may exceed what
// RtlGenRandom takes at once.
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T size)
{
	while (size > 0) {
		ULONG part = size > 0x10000000 ? 0x10000000 : (ULONG)size;
		if (!SystemFunction036(buffer, part))
			return FALSE;
		buffer += part;
		size -= part;
	}
	return TRUE;
}

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, LPVOID reserved)
{
	return TRUE;
}
