# SPDX-License-Identifier: MIT
"""Errors planted in the driver that only debug kernels notice, for run.py.

  ./npu check-debug && ./npu exec tests/mutations/run.py --tree build/debug/tree --timeout 900 \\
    tests/mutations/debug.py

This needs only two kernels of ./npu check-debug, "sanitizers" and "races": the check may be stopped once
they are built. The test programs pass with each of the errors: the kernel's messages make the test fail.
"""

import os

_TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
_BUILD = os.environ.get('ONPU_BUILD', f'{_TOP}/build/gcc')


def _kernel(name):
    return f'{_TOP}/build/debug/{name}'


def _make(name):
    return f'test -e {_kernel(name)}/release && make -s -C {_kernel(name)} M=$PWD modules'


def _guest(options, command, name='sanitizers'):
    kernel = _kernel(name)
    return (f'ONPU_PATIENCE=8 ONPU_DRIVER_TESTS={_BUILD}/tests/driver '
            f'python3 {_TOP}/scripts/guest.py --kernel=$(cat {kernel}/release) --kernel-root={kernel}/system '
            f'--driver=$PWD/driver/onpu.ko --firmware={_BUILD}/firmware/onpu_v1.bin '
            f'--emulator={_BUILD}/emulator/onpu-emu --log={_TOP}/build/log/mutation.log --memory=1536 '
            f'--timeout=800 --root {options} -- {_TOP}/tests/driver/debug.sh {command}')


_CTX = _guest('', 'guest_kselftest.sh ctx,-t,what_a_good_job_leaves submit,-f,submit')
_UNBIND = _guest('', 'guest_lifecycle.py --rounds 1 --only unbind')
# KCSAN watches more accesses, and waits longer for a conflicting one, than by default.
_LOAD = _guest('--append=kcsan.skip_watch=20 --append=kcsan.udelay_task=300',
               'guest_lifecycle.py --rounds 20 --only reset', 'races')

SETUP = [f'test -x {_BUILD}/tests/driver/driver-test-sync']
BUILD = _make('sanitizers')
EVIDENCE = (r'KASAN: |sleeping function called|DMA-API: |lock inversion|circular locking|'
            r'unreferenced object|ODEBUG: |KCSAN: data-race')


def _mutation(name, file, command, old, new, build=BUILD):
    return {'name': name, 'file': 'driver/' + file, 'old': old, 'new': new, 'command': command,
            'build': build}


MUTATIONS = [
    _mutation('use after free', 'onpu_ctx.c', _CTX,
              '\tif (ctx->destroyed)\n\t\tonpu_user_free_end(vm->user);\n\tkfree(ctx);\n',
              '\tkfree(ctx);\n\tif (ctx->destroyed)\n\t\tonpu_user_free_end(vm->user);\n'),
    _mutation('sleep in atomic context', 'onpu_queue.c', _CTX,
              '\tctx->yield = true;\n', '\tctx->yield = true;\n\tmight_alloc(GFP_KERNEL);\n'),
    _mutation('locks in the wrong order', 'onpu_queue.c', _CTX,
              '\t\tif (!first || comes_before(ctx, first))\n',
              '\t\tif (({ spin_lock(&ctx->lock); spin_unlock(&ctx->lock); !first; }) || '
              'comes_before(ctx, first))\n'),
    _mutation('a leak on an error path', 'onpu_job.c', _CTX,
              '\tkfree(job->fence);\n\tjob_free(job);\n', '\tjob_free(job);\n'),
    _mutation('memory stays mapped for the device', 'onpu_gem.c', _UNBIND,
              '\tdma_unmap_sgtable(obj->dev->dev, sgt, onpu_bo_dir(bo), attrs);\n', ''),
    # usage_update() reads the clock and divides: long enough for another CPU to interfere.
    _mutation('a counter without its lock', 'onpu_device.c', _LOAD,
              '\tguard(spinlock)(&usage->lock);\n\tusage_update(usage, vm);\n\tusage->running--;\n',
              '\tusage_update(usage, vm);\n\tusage->running--;\n', _make('races')),
]
