# SPDX-License-Identifier: GPL-2.0-or-later
# Whether boards reach each other's memory: each writes into the memory of each other one, by a
# program on the board, and the other one reads its own. A copy by the driver would prove nothing,
# since it may go through the guest's memory. gpupass verify runs it in a guest, for the boards whose
# addresses are its arguments: a context on another one would take memory that a tenant uses.
import array, ctypes, os, signal, sys

WORDS, BLOCK = 1 << 18, 256
SEED = int.from_bytes(os.urandom(4), "little")
WANTED = array.array("I", [SEED + i & 0xffffffff for i in range(WORDS)]).tobytes()
PTX = b"""
.version 6.0
.target sm_60
.address_size 64
.visible .entry fill(.param .u64 memory, .param .u32 seed)
{
    .reg .b32 %r<5>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [memory];
    ld.param.u32 %r1, [seed];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    add.u32 %r1, %r1, %r2;
    cvta.to.global.u64 %d1, %d1;
    mul.wide.u32 %d2, %r2, 4;
    add.u64 %d1, %d1, %d2;
    st.global.u32 [%d1], %r1;
    ret;
}
"""

class Failed(Exception):
    pass

def call(name, *arguments):
    error = getattr(cuda, name)(*arguments)
    if error:
        raise Failed("%s: CUDA error %d" % (name, error))

class Board:
    def __init__(self, number):
        self.device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.memory, self.module, self.fill = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
        text = ctypes.create_string_buffer(32)
        call("cuDeviceGet", ctypes.byref(self.device), number)
        call("cuDeviceGetPCIBusId", text, 32, self.device)
        self.address = text.value.decode().lower()

    def open(self):
        call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.use()
        call("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(4 * WORDS))
        call("cuModuleLoadData", ctypes.byref(self.module), PTX)
        call("cuModuleGetFunction", ctypes.byref(self.fill), self.module, b"fill")

    def use(self):
        call("cuCtxSetCurrent", self.context)

def write(a, b):
    seed, memory = ctypes.c_uint(SEED), ctypes.c_uint64(b.memory.value)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(memory), ctypes.addressof(seed))
    call("cuLaunchKernel", a.fill, WORDS // BLOCK, 1, 1, BLOCK, 1, 1, 0, None, arguments, None)
    call("cuCtxSynchronize")

def reaches(a, b):
    may, got = ctypes.c_int(), (ctypes.c_uint * WORDS)()
    call("cuDeviceCanAccessPeer", ctypes.byref(may), a.device, b.device)
    if not may.value:
        return "none"
    b.use()
    call("cuMemsetD32_v2", b.memory, ctypes.c_uint(~SEED & 0xffffffff), ctypes.c_size_t(WORDS))
    call("cuCtxSynchronize")
    a.use()
    call("cuCtxEnablePeerAccess", b.context, 0)
    write(a, b)
    call("cuCtxDisablePeerAccess", b.context)
    b.use()
    call("cuMemcpyDtoH_v2", got, b.memory, ctypes.c_size_t(4 * WORDS))
    return "ok" if bytes(got) == WANTED else "lost"

def tell(a, b):
    try:
        return reaches(a, b)
    except Failed as why:
        print(why, file=sys.stderr)
        return "error"

# Who waits for it has given up by then, and the guest agent ends nothing.
signal.alarm(55)
os.environ.pop("CUDA_VISIBLE_DEVICES", None)
# A tenant's MPS server would make its own clients wait for this one, which is another user's.
os.environ["CUDA_MPS_PIPE_DIRECTORY"] = "/nonexistent"
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    print("no-cuda")
    sys.exit(0)
number = ctypes.c_int()
call("cuInit", 0)
call("cuDeviceGetCount", ctypes.byref(number))
boards = [board for board in map(Board, range(number.value)) if board.address in sys.argv]
for board in boards:
    board.open()
print("gpupass-peers 1")
for a in boards:
    for b in boards:
        if a is not b:
            print(a.address, b.address, tell(a, b))
print("end")
