# SPDX-License-Identifier: MIT
"""Errors planted in the driver, for run.py; the tests that catch them run in the guest.

  ./npu build && ./npu exec tests/mutations/run.py --timeout 600 tests/mutations/driver.py

The device, the firmware and the tests are those of ./npu build; the driver is built from the copy.
"""

import glob
import os

_TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
_BUILD = os.environ.get('ONPU_BUILD', f'{_TOP}/build/gcc')
_KERNEL = sorted(os.path.basename(p)[len('vmlinuz-'):] for p in glob.glob('/boot/vmlinuz-6.12*'))[-1]


def _guest(options, command):
    """Returns the command line of a guest with the driver of the current directory, and as many
    processors as in ./npu check.
    """
    with open(f'{_TOP}/tests/driver/{command.split()[0]}', encoding='utf-8') as file:
        cpus = 2 if '# guest: --cpus=2' in file.read() else 1
    return (f'ONPU_DRIVER_TESTS={_BUILD}/tests/driver '
            f'python3 {_TOP}/scripts/guest.py --kernel={_KERNEL} --driver=$PWD/driver/onpu.ko '
            f'--firmware={_BUILD}/firmware/onpu_v1.bin --emulator={_BUILD}/emulator/onpu-emu '
            f'--log={_TOP}/build/log/mutation.log --timeout=580 --cpus={cpus} {options} -- '
            f'{_TOP}/tests/driver/{command}')


def _tests(names, options=''):
    return _guest(options, f'guest_kselftest.sh {names}')


def _lifecycle(name):
    return _guest('--root', f'guest_lifecycle.py --only {name} --rounds 2 '
                  f'--load {_BUILD}/tests/driver/driver-load --module $PWD/driver/onpu.ko')


_PROCESS = _tests('process,-t,an_address_that_is_used_again,-t,a_closed_buffer_is_out_of_reach,'
                  '-t,an_end_with_everything_open', '--emu-arg=--tlb=sticky')
_SUBMIT = _tests('submit')
_STATIC = _tests('query bo ctx')
_FAULT = _tests('fault,-v,read_of_kernel,-v,write_to_kernel,-v,read_only,-v,deadlock')
_SYNC = _tests('sync')
_WRAP = _tests('wrap')
_FENCE = _tests('sync,-t,in_a_batch_only_what_comes_behind_waits,-t,a_later_job_waits_for_the_earlier_one,'
                '-t,a_fence_is_not_signalled_before_its_job_has_ended')
_HANG = _tests('hang')
_PRIME = _tests('prime', '--modprobe=vgem')
_RACE = _guest('--root', 'guest_race.sh')
_DMA = _guest('--root', 'guest_dma.py 2')
_MOMENTS = _guest("--root --modprobe=vgem --append=oops=panic --append='slab_debug=P,kmalloc-*' --append=iomem=relaxed "
                  "--allow-log='onpu .*firmware failed: '", 'guest_moments.sh')
_SLEEP = _guest(f'--root --in-memory=tests/driver --in-memory=tests/tap.sh '
                f'--in-memory={_BUILD}/tests/driver/driver-load --modprobe=button '
                f'--modprobe=zram', 'guest_sleep.sh 1')
_POWER = _guest('--root', 'guest_power.sh 5')
_FAIL = _guest('--root --modprobe=vgem', 'guest_fail.sh')
_PROBE = _guest('--root --allow-warnings --append=oops=panic', 'guest_probe.sh')
_ROGUE = _guest("--root --allow-log='onpu .*the firmware sent an invalid message: ' "
                "--allow-log='onpu .*(firmware still fails after|device is wedged: )' "
                "--allow-log='onpu_mbox_protocol_error: .* callbacks suppressed'", 'guest_rogue.sh')

_QUEUES = _guest('--root --emu-arg=--queues=4', 'guest_queues.sh')
# There are as many queues as clients: a client that takes the queue of a client of equal rank leaves
# that one without a queue.
_SHARES = _tests('share,-f,clients', '--emu-arg=--queues=3')
_LIMITS = _guest('--root', 'guest_limits.sh')
_I386 = _guest('--modprobe=vgem', 'guest_i386.sh')
_FUZZ = _guest('', 'guest_fuzz.sh 3000')
_KUNIT = _guest("--root --allow-log='onpu-kunit: .*(firmware |the device cannot reach memory )' "
                "--allow-log='onpu_mbox_protocol_error: .* callbacks suppressed'", 'guest_kunit.sh')
_TRACE = _guest('--root', 'guest_trace.sh')
_PERF = _guest('--root', 'guest_perf.sh')
_FAULTS = _guest("--root --emu-arg=--inject=- --append=iomem=relaxed "
                 "--allow-log='onpu .*(request [0-9]+ in time|the firmware sent an invalid message: |device inaccessible)'",
                 'guest_faults.py')
_SMI = _guest("--root --allow-log='onpu .*(firmware|could not be started|probe with driver onpu failed|reads 0xffffffff|device inaccessible)' "
              "--allow-log='Direct firmware load for onpu/'", 'guest_smi.sh')

_DEVICES = _guest("--root --devices=3 --allow-log='onpu .*(reads 0xffffffff|device inaccessible)'", 'guest_devices.sh')

SETUP = [f'test -x {_BUILD}/emulator/onpu-emu && test -x {_BUILD}/tests/driver/driver-test-sync']
BUILD = (f'make -s -C /lib/modules/{_KERNEL}/build M=$PWD ONPU_TESTS=m modules && '
         'cp tests/driver/widen/onpu_{fail,widen}.ko tests/driver/kunit/onpu_kunit.ko driver/')


def _mutation(name, file, command, old, new):
    return {'name': name, 'file': 'driver/' + file, 'old': old, 'new': new, 'command': command}


MUTATIONS = [
    # 32-bit programs, random calls
    _mutation('only programs of 64 bits are served', 'onpu_drv.c', _I386,
              '\t.compat_ioctl = drm_compat_ioctl,\n', ''),
    _mutation('large buffers are paid for when they are gone', 'onpu_gem.c', _FUZZ,
              '\tonpu_user_uncharge(user, size);\n',
              '\tif (size < SZ_2M)\n\t\tonpu_user_uncharge(user, size);\n'),
    # Code that only the unit tests reach
    _mutation('a large page goes beyond a run of memory', 'onpu_mmu.c', _KUNIT,
              'min(left, sg_dma_len(c->sg) - c->offset) >= ONPU_LARGE_PAGE_SIZE', 'left >= ONPU_LARGE_PAGE_SIZE'),
    _mutation('numbers of invalidations end with 32 bits', 'onpu_mmu.c', _KUNIT,
              'return (s32)(done - request) >= 0;', 'return done >= request;'),
    _mutation('one invalidation too many is under way', 'onpu_mmu.c', _KUNIT,
              'mmu->last - mmu->seen >= MAX_REQUESTS', 'mmu->last - mmu->seen > MAX_REQUESTS'),
    _mutation('a response to an earlier request is taken', 'onpu_mbox.c', _KUNIT,
              'good = wait && wait->id == msg->header.id &&', 'good = wait &&'),
    _mutation('the index of the responses ends with 32 bits', 'onpu_mbox.c', _KUNIT,
              'if (tail - mbox->head > ONPU_MBOX_SLOTS) {',
              'if (tail < mbox->head || tail > mbox->head + ONPU_MBOX_SLOTS) {'),
    _mutation('an image may need less memory than it has', 'onpu_fw.c', _KUNIT,
              'if (h.memory_size < h.image_size)', 'if (!h.memory_size)'),
    _mutation('an image need not be whole words', 'onpu_fw.c', _KUNIT,
              '!h.image_size || h.image_size % 4)', '!h.image_size)'),
    _mutation('a range may end beyond all numbers', 'onpu_submit.c', _KUNIT,
              'va < limit && size <= limit - va', 'va + size <= limit'),
    _mutation('jobs behind a wait are in the group before it', 'onpu_submit.c', _KUNIT,
              '} while (++i < submit->num_jobs &&\n'
              '\t\t !count_syncs(syncs, submit->jobs[i].syncs.count, DRM_ONPU_SYNC_WAIT));',
              '} while (++i < submit->num_jobs);'),
    _mutation('the hardware may have taken jobs at will', 'onpu_job.c', _KUNIT,
              'taken > ctx->completed + 1 ||', ''),
    _mutation('a stopped host makes a job hang', 'onpu_job.c', _KUNIT,
              'return ++last->checks < HANG_CHECKS || time_before', 'return time_before'),
    # Counters for perf
    _mutation('a counter that the device lacks is read', 'onpu_pmu.c', _PERF,
              'event->attr.config >= onpu->num_counters', 'event->attr.config > onpu->num_counters'),
    _mutation('a counter lets the device sleep', 'onpu_pmu.c', _PERF,
              'ret = pm_runtime_resume_and_get(onpu->drm.dev);',
              'ret = pm_runtime_resume_and_get(onpu->drm.dev);\n\tif (!ret)\n\t\tpm_runtime_put(onpu->drm.dev);'),
    _mutation('a counter has what came before it', 'onpu_pmu.c', _PERF,
              'local64_set(&event->hw.prev_count, counter_now(event));', 'local64_set(&event->hw.prev_count, 0);'),
    _mutation('perf gives up when a device has gone', 'onpu_pmu.c', _PERF, 'return -ENXIO;', 'return -ENODEV;'),
    # Platforms, which only the unit tests have
    _mutation('guests that only x86 tells from hosts are served', 'onpu_device.c', _KUNIT,
              'encrypted = cc_platform_has(CC_ATTR_MEM_ENCRYPT) && ', 'encrypted = cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT) && '),
    # Caches that the device does not snoop, which only the unit tests have
    _mutation('caches are maintained where the device sees them', 'onpu_gem.c', _KUNIT,
              'if (onpu_coherent(to_onpu(drm)))', 'if (bo->base.map_wc)'),
    _mutation('no caches are maintained', 'onpu_gem.c', _KUNIT,
              'if (onpu_coherent(to_onpu(drm)))', 'if (!onpu_coherent(to_onpu(drm)))'),
    _mutation('bounce buffers are not synced', 'onpu_gem.c', _KUNIT,
              'if (onpu_coherent(to_onpu(drm)))', 'if (to_onpu(drm)->snoops)'),
    _mutation('memory that is not cached is not synced', 'onpu_gem.c', _KUNIT,
              'if (onpu_coherent(to_onpu(drm)))', 'if (onpu_coherent(to_onpu(drm)) || bo->base.map_wc)'),
    _mutation('the driver\'s memory is cached', 'onpu_shared.c', _KUNIT,
              'return onpu->snoops ? prot : pgprot_writecombine(prot);', 'return prot;'),
    _mutation('the driver\'s memory goes with the DMA API\'s', 'onpu_shared.c', _KUNIT,
              '\t\tget_page(page);\n\t\tbo->pages[i] = page;\n', '\t\tbo->pages[i] = page;\n'),
    _mutation('the driver\'s memory is never freed', 'onpu_shared.c', _KUNIT,
              '\t\t\tput_page(bo->pages[i]);\n', '\t\t\t;\n'),
    _mutation('the sync of a range forgets the offset', 'onpu_gem.c', _KUNIT,
              'sg_dma_address(sg) + (offset - at),', 'sg_dma_address(sg),'),
    _mutation('the sync of a range begins with the buffer', 'onpu_gem.c', _KUNIT,
              'for (; size && offset < end;', 'for (offset = at; size && offset < end;'),
    _mutation('the sync of a range goes on to the end of an entry', 'onpu_gem.c', _KUNIT,
              'min3(size, end - offset,', 'min(end - offset,'),
    _mutation('the sync of a range stops after the first entry', 'onpu_gem.c', _KUNIT,
              '\t\tat = end;\n', '\t\tif (offset >= end)\n\t\t\tbreak;\n\t\tat = end;\n'),
    _mutation('pages behind an IOMMU are synced as one piece', 'onpu_gem.c', _KUNIT,
              'min3(size, end - offset, PAGE_SIZE - offset_in_page(offset))', 'min(size, end - offset)'),
    _mutation('entries are as long as the CPU has them', 'onpu_gem.c', _KUNIT,
              'end += sg_dma_len(sg);', 'end += sg->length;'),
    _mutation('the sync of a range ends with 32 bits', 'onpu_gem.c', _KUNIT,
              'u64 at = 0, end = 0, step;', 'u32 at = 0, end = 0, step;'),
    _mutation('a sync for the CPU is one for the device', 'onpu_gem.c', _KUNIT,
              'dma_sync_single_for_cpu(dev', 'dma_sync_single_for_device(dev'),
    _mutation('a sync for the device has another direction than the mapping', 'onpu_gem.c', _KUNIT,
              'dma_sync_single_for_device(dev, addr, size, dir);',
              'dma_sync_single_for_device(dev, addr, size, DMA_TO_DEVICE);'),
    _mutation('memory that the device only reads is synced both ways', 'onpu_gem.h', _KUNIT,
              'return (bo->flags & read_only) == read_only ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;',
              'return DMA_BIDIRECTIONAL;'),
    _mutation('memory of a process stays pinned', 'onpu_wrap.c', _WRAP,
              '\tatomic_long_sub(count, &bo->locked_by->locked_vm);\n', ''),
    _mutation('private memory is wrapped', 'onpu_wrap.c', _WRAP,
              'if (!(vma->vm_flags & VM_MAYSHARE))', 'if (!vma->vm_flags)'),
    _mutation('memory that is mapped for reading is written', 'onpu_wrap.c', _WRAP,
              'FOLL_LONGTERM | (bo->flags & DRM_ONPU_BO_DEVICE_RO ? 0 : FOLL_WRITE)', 'FOLL_LONGTERM'),
    _mutation('locked memory has no limit', 'onpu_wrap.c', _WRAP,
              'rlimit(RLIMIT_MEMLOCK) / PAGE_SIZE', 'LONG_MAX'),
    _mutation('locked memory that was given up counts', 'onpu_wrap.c', _WRAP,
              'int ret = onpu_user_wait(bo->user, take_locked, &request);',
              'int ret = take_locked(bo->user, &request);'),
    _mutation('memory of who may lock any counts', 'onpu_wrap.c', _KUNIT,
              'capable(CAP_IPC_LOCK) ? 0 : lock_pages(bo, count)', 'lock_pages(bo, count)'),
    _mutation('locked memory ends beyond its limit', 'onpu_wrap.c', _KUNIT,
              'now + request->count > request->limit', 'now > (long)request->limit'),
    _mutation('pins are never given back', 'onpu_wrap.c', _KUNIT,
              'unpin_user_pages_dirty_lock(bo->pages, bo->pinned,',
              'unpin_user_pages_dirty_lock(bo->pages, 0,'),
    _mutation('memory of a process is exported', 'onpu_gem.c', _WRAP,
              'if (to_onpu_bo(obj)->flags & DRM_ONPU_BO_WRAPPED)', 'if (!obj)'),
    _mutation('a sync has one flag', 'onpu_gem.c', _KUNIT,
              '\tif (flags & DRM_ONPU_BO_SYNC_FOR_CPU)\n', '\telse\n'),
    _mutation('a sync may end beyond the buffer', 'onpu_gem.c', _KUNIT,
              'if (end > obj->size || bo->flags & DRM_ONPU_BO_IMPORTED)\n\t\tret = -EINVAL;',
              'if (bo->flags & DRM_ONPU_BO_IMPORTED)\n\t\tret = -EINVAL;'),
    _mutation('what is not mapped any more is synced', 'onpu_gem.c', _KUNIT,
              '\tif (entered < 0)\n\t\treturn entered;\n\treturn sync_range', '\treturn sync_range'),
    _mutation('a killed process waits for all of its sync', 'onpu_gem.c', _KUNIT,
              'if (fatal_signal_pending(current))', 'if (fatal_signal_pending(current) && !size)'),
    _mutation('a dma-buf syncs nothing before the CPU reads it', 'onpu_gem.c', _KUNIT,
              'return export_sync(buf, DRM_ONPU_BO_SYNC_FOR_CPU);', 'return 0;'),
    _mutation('a dma-buf syncs for its own device alone', 'onpu_gem.c', _KUNIT,
              'list_for_each_entry(attach, &buf->attachments, node) {',
              'list_for_each_entry(attach, &buf->attachments, node) {\n\t\tbreak;'),
    _mutation('a dma-buf is synced for a device that has unmapped it', 'onpu_gem.c', _KUNIT,
              '\tif (mapped->sgt == sgt)\n\t\tmapped->sgt = NULL;\n', '\t(void)mapped;\n'),
    _mutation('a copy is exported', 'onpu_gem.c', _KUNIT,
              ' || has_copy(attach->dmabuf->priv)', ''),
    _mutation('a save area takes up bounce buffers', 'onpu_gem.c', _KUNIT,
              'bo->shared = shared || vm->onpu->bounces;', 'bo->shared = shared;'),
    _mutation('a handle is there before its memory', 'onpu_gem.c', _KUNIT,
              'ret = PTR_ERR_OR_ZERO(bo_memory(bo));\n', 'ret = 0;\n'),
    _mutation('a device that sees the caches has write-combining mappings', 'onpu_gem.c', _KUNIT,
              'args->flags & DRM_ONPU_BO_WC && !onpu->snoops && !onpu->bounces;',
              'args->flags & DRM_ONPU_BO_WC && !onpu->bounces;'),
    _mutation('copies in bounce buffers come from write-combining mappings', 'onpu_gem.c', _KUNIT,
              'args->flags & DRM_ONPU_BO_WC && !onpu->snoops && !onpu->bounces;',
              'args->flags & DRM_ONPU_BO_WC && !onpu->snoops;'),
    # Memory of other clients
    _mutation('an invalidation is forgotten', 'onpu_mmu.c', _PROCESS,
              '\t\tlist_add_tail(&map->link, &mmu->backlog);\n\t\tsend_backlog(mmu);\n',
              '\t\tqueue_work(onpu_free_wq, &map->free);\n'),
    _mutation('an invalidation names the first page only', 'onpu_mmu.c', _PROCESS,
              'onpu_write(onpu, ONPU_REG_INV_PAGES, map->size / ONPU_PAGE_SIZE);',
              'onpu_write(onpu, ONPU_REG_INV_PAGES, 1);'),
    _mutation('entries stay after a buffer is closed', 'onpu_mmu.c', _PROCESS,
              'entry_write(small, entry_index(va, 0), 0, 0);', ';'),
    _mutation('the kernel\'s memory is for all', 'onpu_mmu.c', _FAULT,
              'LEAF | prot);', 'LEAF | ONPU_PTE_U | prot);'),
    _mutation('what is read-only for the device is not', 'onpu_mmu.c', _FAULT,
              'LEAF | prot);', 'LEAF | ONPU_PTE_W | ONPU_PTE_D | prot);'),
    # Checks of arguments
    _mutation('flags of a job are not looked at', 'onpu_submit.c', _SUBMIT,
              'if (job->flags || !job->instr_count ||', 'if (!job->instr_count ||'),
    _mutation('the start of a range is not looked at', 'onpu_submit.c', _SUBMIT,
              'IS_ALIGNED(va, align) && va < limit && size', 'IS_ALIGNED(va, align) && size'),
    _mutation('alignment is not looked at', 'onpu_submit.c', _SUBMIT,
              'return IS_ALIGNED(va, align) && va', 'return va'),
    _mutation('syncs are counted by the job', 'onpu_submit.c', _SUBMIT,
              'count > ONPU_SUBMIT_MAX_SYNCS - submit->num_syncs', 'count > ONPU_SUBMIT_MAX_SYNCS'),
    _mutation('a point without timeline', 'onpu_submit.c', _SUBMIT,
              ' &&\n\t       !timeline == !sync->point;', ' && (timeline || !timeline);'),
    _mutation('a stride that is too short', 'onpu_submit.c', _SUBMIT,
              'if (array->stride < first_size)', 'if (!array->stride)'),
    _mutation('a stride of any length', 'onpu_submit.c', _SUBMIT,
              'if (array->stride > MAX_STRIDE)', 'if (array->stride > MAX_STRIDE && !array->array)'),
    _mutation('high priority for everybody', 'onpu_ctx.c', _STATIC,
              'args->priority == DRM_ONPU_PRIORITY_HIGH && !capable(CAP_SYS_NICE)',
              'args->priority == DRM_ONPU_PRIORITY_HIGH && !capable(CAP_SYS_NICE) && args->pad'),
    _mutation('the state waits for the interrupt', 'onpu_ctx.c', _STATIC,
              'onpu_ctx_reap(ctx);\n\t\tup_read(', 'up_read('),
    _mutation('padding is not looked at', 'onpu_ctx.c', _STATIC,
              'args->ctx_id || args->pad ||\n\t    args->completion_offset)',
              'args->ctx_id ||\n\t    args->completion_offset)'),
    _mutation('NO_MMAP is mapped', 'onpu_gem.c', _STATIC,
              'if (bo->flags & NO_OFFSET)', 'if (bo->flags & DRM_ONPU_BO_IMPORTED)'),
    _mutation('an import is mapped', 'onpu_gem.c', _PRIME,
              'if (bo->flags & NO_OFFSET)', 'if (bo->flags & DRM_ONPU_BO_NO_MMAP)'),
    _mutation('the completion page can be made writable', 'onpu_shared.c', _STATIC,
              'vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);',
              'vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);'),
    _mutation('jobs of long work may signal syncobjs', 'onpu_submit.c', _STATIC,
              '\t       -EOPNOTSUPP : 0;', '\t       0 : 0;'),
    _mutation('one job too many', 'onpu_job.c', _SYNC,
              '+ num_entries > ONPU_MAX_QUEUED_JOBS)', '+ num_entries > ONPU_MAX_QUEUED_JOBS + 1)'),
    # Accounting and references
    _mutation('memory of a closed buffer still counts', 'onpu_gem.c', _STATIC,
              '\tatomic64_sub(obj->size, &file->memory);\n\tkfree(use);\n', '\tkfree(use);\n'),
    _mutation('memory of a context still counts', 'onpu_gem.c', _STATIC,
              '\t\tatomic64_sub(kbo->bo->base.base.size, &kbo->vm->ctx_memory);\n', ''),
    _mutation('time of a job that runs is not told', 'onpu_device.c', _STATIC,
              'vm->usage.running * (share_at(usage, ktime_get()) - vm->usage.since)', '0'),
    _mutation('time is not divided among contexts', 'onpu_device.c', _STATIC,
              'div_u64(busy_ns, usage->running)', 'busy_ns'),
    _mutation('BO_INFO keeps a reference', 'onpu_gem.c', _PROCESS,
              'args->mmap_offset = drm_vma_node_offset_addr(&obj->vma_node);\n\t}\n'
              '\tdrm_gem_object_put(obj);\n',
              'args->mmap_offset = drm_vma_node_offset_addr(&obj->vma_node);\n\t}\n'),
    _mutation('SUBMIT keeps a reference', 'onpu_submit.c', _STATIC,
              '\tcleanup_submit(&submit);\n\tonpu_ctx_put(submit.ctx);\n', '\tcleanup_submit(&submit);\n'),
    # Jobs and their fences
    _mutation('cancelled jobs do not signal', 'onpu_job.c', _FENCE,
              '\tdma_fence_signal(&job->fence->base);\n',
              '\tif (error != -ECANCELED)\n\t\tdma_fence_signal(&job->fence->base);\n'),
    _mutation('a fence that is waited for is forgotten', 'onpu_job.c', _FENCE,
              'dma_fence_is_signaled(fence))\n\t\tdma_fence_put(fence);', 'fence)\n\t\tdma_fence_put(fence);'),
    _mutation('a fence that has signalled wakes nobody', 'onpu_job.c', _FENCE,
              '\tqueue_work(ctx->onpu->wq, &ctx->resolve);\n', ''),
    _mutation('only the last of the fences is waited for', 'onpu_job.c', _SYNC,
              '\tfor (; job->num_waits; drop_wait(job)) {\n',
              '\tfor (; job->num_waits; ({ while (job->num_waits) drop_wait(job); })) {\n'),
    _mutation('jobs overtake one that waits', 'onpu_job.c', _FENCE,
              '\t\tif (job_waits(job))\n\t\t\tbreak;\n', '\t\tif (job_waits(job))\n\t\t\tcontinue;\n'),
    _mutation('the callback of a job that has ended stays', 'onpu_job.c', _MOMENTS,
              '\tif (job->added)\n\t\tdma_fence_remove_callback(fence, &job->callback);\n', ''),
    _mutation('a context goes while its work runs', 'onpu_ctx.c', _MOMENTS,
              '\tcancel_work_sync(&ctx->resolve);\n', ''),
    _mutation('a deadlock has another errno', 'onpu_job.c', _FAULT,
              '\t\t[ONPU_FAULT_DEADLOCK ... ONPU_FAULT_TIMEOUT] = ETIME,\n', ''),
    _mutation('a context goes on after a fault', 'onpu_ctx.c', _FAULT,
              '\tWRITE_ONCE(ctx->dead, true);\n\tif (ctx->state == DRM_ONPU_CTX_ACTIVE ||',
              '\tif (ctx->state == DRM_ONPU_CTX_ACTIVE ||'),
    _mutation('waiting for others is a hang', 'onpu_job.c', _KUNIT,
              'bool waits = queue >= 0 && waits_for_others(ctx->onpu, queue);', 'bool waits = false;'),
    _mutation('a hang is none', 'onpu_job.c', _HANG,
              'return ++last->checks < HANG_CHECKS || '
              'time_before(now.when, last->when + ctx->timeout);',
              'return true;'),
    _mutation('jobs that follow put off the next look', 'onpu_job.c', _HANG,
              '\t\tctx->progress.checks = 0;\n\t}\n',
              '\t\tctx->progress.checks = 0;\n\t}\n'
              '\tmod_delayed_work(ctx->onpu->reset_wq, &ctx->watch, '
              'DIV_ROUND_UP(ctx->timeout, HANG_CHECKS));\n'),
    _mutation('only the first job is watched', 'onpu_job.c', _HANG,
              '\tif (onpu_ctx_busy(ctx) || !list_empty(&ctx->runnable))\n\t\twatch_ctx(ctx);\n', ''),
    _mutation('a file that closes leaves its jobs running', 'onpu_drv.c',
              _tests('process,-t,jobs_are_cancelled_with_context_and_file'),
              '\tonpu_ctx_file_close(to_onpu_file(drm_file));\n', ''),
    # Time slices on few queues, limits
    _mutation('an interrupted job begins anew', 'onpu_job.c', _QUEUES,
              'job->taken = clamp_t(s64, taken + 1 - first, 0, job->count);', 'job->taken = 0;'),
    _mutation('an interrupted job is left out', 'onpu_queue.c', _QUEUES,
              'ctx->resume ? ONPU_QUEUE_RESUME : ONPU_QUEUE_PLAIN', 'ONPU_QUEUE_PLAIN'),
    _mutation('a busy queue is not taken away', 'onpu_queue.c', _QUEUES,
              'ctx->priority > raised_priority(waiter) ||\n\t    !may_take(ctx, waiter))\n\t\treturn false;\n',
              'ctx->priority > raised_priority(waiter) ||\n\t    may_take(ctx, waiter))\n\t\treturn false;\n'),
    _mutation('a client takes queues from who has as many', 'onpu_queue.c', _SHARES,
              'ctx->priority < waiter->priority || ctx->vm == waiter->vm ||\n', 'true ||\n'),
    _mutation('a job may run for ever', 'onpu_job.c', _QUEUES,
              'job->cycle_limit ? min(job->cycle_limit, max_cycles) : max_cycles', 'job->cycle_limit'),
    _mutation('a job may wait for ever', 'onpu_job.c', _QUEUES,
              'return time_after(jiffies, ctx->progress.moved + ctx->onpu->limits.wait);',
              'return false;'),
    _mutation('a closed handle gives the memory back', 'onpu_gem.c', _LIMITS,
              '\tatomic64_sub(obj->size, &file->memory);\n\tkfree(use);\n',
              '\tatomic64_sub(obj->size, &file->memory);\n\tkfree(use);\n'
              '\tonpu_user_uncharge(file->vm->user, obj->size);\n'),
    _mutation('each file has a limit of its own', 'onpu_user.c', _LIMITS,
              '\t\tif (uid_eq(user->uid, uid))\n', '\t\tif (uid_eq(user->uid, uid) && !user)\n'),
    _mutation('all users have one limit', 'onpu_user.c', _LIMITS,
              '\t\tif (uid_eq(user->uid, uid))\n', '\t\tif (user)\n'),
    # Mapped memory stays
    _mutation('a mapping goes with the handle', 'onpu_gem.c', _tests('bo,-t,a_mapping_outlives_handle_and_file'),
              '\tatomic64_sub(obj->size, &file->memory);\n\tkfree(use);\n',
              '\tatomic64_sub(obj->size, &file->memory);\n\tkfree(use);\n\tbo->base.madv = -1;\n'
              '\tdrm_vma_node_unmap(&obj->vma_node, obj->dev->anon_inode->i_mapping);\n'),
    _mutation('a completion page goes with its context', 'onpu_gem.c',
              _tests('ctx,-t,the_mapped_page_outlives_context_and_file'),
              '\t\tatomic64_sub(kbo->bo->base.base.size, &kbo->vm->ctx_memory);\n',
              '\t\tatomic64_sub(kbo->bo->base.base.size, &kbo->vm->ctx_memory);\n\t\tkbo->bo->base.madv = -1;\n'
              '\t\tdrm_vma_node_unmap(&kbo->bo->base.base.vma_node,\n'
              '\t\t\t\t   kbo->vm->onpu->drm.anon_inode->i_mapping);\n'),
    # Core dumps
    _mutation('each failure is dumped', 'onpu_dump.c', _SMI,
              '\tdump->seen |= text ? failure->bit : 0;\n', ''),
    _mutation('a failure that had no room for its dump counts', 'onpu_dump.c', _FAULTS,
              'dump->seen |= text ? failure->bit : 0;', 'dump->seen |= failure->bit;'),
    _mutation('a dump has entries of the first job alone', 'onpu_job.c', _KUNIT,
              '\t\tif (job->seqno > ctx->fed)\n\t\t\treturn;\n', '\t\tif (count)\n\t\t\treturn;\n'),
    _mutation('a dump has entries that the hardware does not have', 'onpu_job.c', _KUNIT,
              '\t\tif (job->seqno > ctx->fed)\n\t\t\treturn;\n', ''),
    _mutation('a dump reads the page behind', 'onpu_gem.c', _KUNIT,
              '(bo->pages ?: bo->base.pages) + first, end', '(bo->pages ?: bo->base.pages) + first + 1, end'),
    _mutation('files push all else out of a dump', 'onpu_dump.c', _KUNIT,
              'if (seq_buf_used(s) + 2 * LINE_BYTES <= start + LIST_BYTES)', 'if (s)'),
    _mutation('a dump is made where memory is freed', 'onpu_dump.c', _TRACE,
              'schedule_work(&ctx->onpu->dump->work);',
              'queue_work(onpu_free_wq, &ctx->onpu->dump->work);'),
    _mutation('a dump has slots in place of the program', 'onpu_dump.c', _SMI,
              'failure->job.program_va + first * sizeof(words[0])', 'failure->job.slots_va'),
    # Import
    _mutation('an import waits under the lock of handles', 'onpu_gem.c', _LIMITS,
              '\tuse = find_use(bo, file);\n\tif (!use) {\n',
              '\tif (!bo->user) {\n\t\tint ret = bo_charge(bo, file->vm->user);\n\n\t\tif (ret)\n\t\t\treturn ret;\n\t}\n'
              '\tuse = find_use(bo, file);\n\tif (!use) {\n'),
    # Trace events, debugfs
    _mutation('the error of a job is not traced', 'onpu_job.c', _TRACE,
              'trace_onpu_complete(ctx, job->seqno, job->count, error);',
              'trace_onpu_complete(ctx, job->seqno, job->count, 0);'),
    _mutation('one of the jobs that are fed is traced', 'onpu_job.c', _TRACE,
              'trace_onpu_feed(ctx, ctx->fed, count, 0);', 'trace_onpu_feed(ctx, ctx->fed, 1, 0);'),
    _mutation('an invalidation that is lost is no reason', 'onpu_mmu.c', _TRACE,
              '\t\tonpu_device_reset_async(mmu->onpu, ONPU_RESET_INVALIDATION);\n', '\t\t;\n'),
    _mutation('a context that cannot be killed is left alone', 'onpu_queue.c', _TRACE,
              '\t\tonpu_device_reset_async(onpu, ONPU_RESET_KILL);\n\t\tbreak;\n', '\t\tbreak;\n'),
    # Other devices, resets, ends
    _mutation('a wedged device loses the results of jobs that had ended', 'onpu_gem.c', _FAULTS,
              '\tif (!args->flags || args->flags & ~SYNC_FLAGS ||',
              '\tif (onpu_device_lost(to_onpu(drm)))\n\t\treturn -ENODEV;\n'
              '\tif (!args->flags || args->flags & ~SYNC_FLAGS ||'),
    _mutation('a buffer of another device is taken for one of this', 'onpu_gem.c', _DEVICES,
              'buf->ops == &export_ops && obj->dev == drm', 'buf->ops == &export_ops'),
    _mutation('jobs stay when their device goes', 'onpu_reset.c', _DEVICES,
              '\tonpu_ctx_post_reset(onpu, false);\n\t/* Contexts that are ending',
              '\t/* Contexts that are ending'),
    _mutation('an import is not marked', 'onpu_gem.c', _PRIME,
              'to_onpu_bo(obj)->flags = DRM_ONPU_BO_IMPORTED;', 'to_onpu_bo(obj)->flags = 0;'),
    _mutation('an entry that a reset took is kept', 'onpu_queue.c', _RACE,
              '\tif (!ret)\n\t\t__clear_bit(vm->slot, cd->vm_slots);\n\tvm->slot = -1;\n\treturn ret;\n',
              '\tif (ret)\n\t\treturn ret;\n\t__clear_bit(vm->slot, cd->vm_slots);\n\tvm->slot = -1;\n'
              '\treturn 0;\n'),
    _mutation('buffers stay mapped', 'onpu_reset.c', _DMA, '\tonpu_gem_unplug(onpu);\n', ''),
    _mutation('an import is only unmapped', 'onpu_gem.c', _DMA, '\tdma_buf_detach(buf, attach);\n', ''),
    _mutation('page tables stay', 'onpu_reset.c', _DMA, '\tonpu_mmu_unplug(onpu);\n', ''),
    _mutation('the id of a response is not looked at', 'onpu_mbox.c', _ROGUE,
              'good = wait && wait->id == msg->header.id &&\n\t       (wait->type',
              'good = wait &&\n\t       (wait->type'),
    _mutation('the index of responses is not looked at', 'onpu_mbox.c', _ROGUE,
              'if (tail - mbox->head > ONPU_MBOX_SLOTS) {',
              'if (tail - mbox->head > 1000 * ONPU_MBOX_SLOTS) {'),
    _mutation('any queue of an event is believed', 'onpu_queue.c', _ROGUE,
              'if (queue < ONPU_MAX_QUEUES && cd->queues[queue])', 'if (cd->queues[queue])'),
    _mutation('any fault of an event is believed', 'onpu_ctx.c', _ROGUE,
              ' &&\n\t    onpu_read(onpu, ONPU_REG_QUEUE_STATE(event->queue)) == ONPU_QUEUE_FAULTED)',
              ')'),
    _mutation('a firmware that lies is never marked wedged', 'onpu_reset.c', _ROGUE,
              'if (onpu->fw_resets++ < MAX_FW_RESETS)', 'if (MAX_FW_RESETS)'),
    _mutation('work of the firmware that lies does not count', 'onpu_reset.c', _ROGUE,
              'if (jobs != onpu->fw_reset_jobs ||', 'if ('),
    _mutation('the heartbeat tells of a firmware that is gone', 'onpu_fw.c', _MOMENTS,
              'if (down_read_trylock(&onpu->reset_lock)) {\n',
              'if (down_read_trylock(&onpu->reset_lock)) {\n\t\tup_read(&onpu->reset_lock);\n'
              '\t\tonpu_fw_status_irq(onpu);\n\t\tdown_read(&onpu->reset_lock);\n'),
    _mutation('tables go before the device has forgotten them', 'onpu_mmu.c', _KUNIT,
              '\tforget(&vm->all, vm_free_work);\n',
              '\tINIT_WORK(&vm->all.free, vm_free_work);\n\tqueue_work(onpu_free_wq, &vm->all.free);\n'),
    _mutation('one user takes all address spaces', 'onpu_mmu.c', _KUNIT,
              'atomic_add_unless(&user->vms, 1, max(limit, 1))', 'atomic_add_unless(&user->vms, 1, INT_MAX)'),
    _mutation('the program goes before its core dump is made', 'onpu_gem.c', _MOMENTS,
              '\t\tonpu_dump_flush(to_onpu(obj->dev));\n', ''),
    _mutation('a reset that others have made comes again', 'onpu_reset.c', _MOMENTS,
              'if (READ_ONCE(onpu->reset_reason) == ONPU_RESET_NONE) {', 'if (!onpu->regs) {'),
    _mutation('a reset leaves its reason behind', 'onpu_reset.c', _MOMENTS,
              'return xchg(&onpu->reset_reason, ONPU_RESET_NONE);',
              'return READ_ONCE(onpu->reset_reason);'),
    _mutation('a submission to a device that is gone fails as the context', 'onpu_job.c', _MOMENTS,
              '-ENOENT : onpu_device_lost(ctx->onpu) ? -ENODEV : -EIO;', '-ENOENT : -EIO;'),
    _mutation('nobody is told of system sleep', 'onpu_drv.c', _SLEEP,
              '\t.driver.pm = pm_ptr(&onpu_pm_ops),\n', ''),
    _mutation('the device stays asleep', 'onpu_reset.c', _SLEEP,
              '\tret = restart_from_outside(onpu);\n\t/* From', '\tret = 0;\n\t/* From'),
    _mutation('memory that is given up waits for the device to wake up', 'onpu_mmu.c', _POWER,
              'mmu->stopped = onpu_device_lost(onpu) || onpu->asleep;\n\tmmu->idle = mmu->stopped',
              'mmu->stopped = onpu_device_lost(onpu) || onpu->asleep;\n\tmmu->idle = onpu_device_lost(onpu)'),
    _mutation('a device that cannot be reached keeps nothing', 'onpu_mmu.c', _KUNIT,
              '\tif (onpu->quarantine)\n\t\treturn;\n', ''),
    _mutation('what is given up after the loss of the device is freed', 'onpu_mmu.c', _KUNIT,
              'mmu->idle = mmu->stopped && !onpu->quarantine;', 'mmu->idle = mmu->stopped;'),
    _mutation('to wake up is a reset', 'onpu_reset.c', _POWER, '\tif (!onpu->asleep)\n\t\tatomic_inc(', '\tatomic_inc('),
    _mutation('a context that saves energy waits as others do', 'onpu_job.c', _POWER,
              '(ctx->power == DRM_ONPU_POWER_LOW ? 0 : RPM_AUTO)', 'RPM_AUTO'),
    _mutation('an idle context of high performance keeps the device awake', 'onpu_ctx.c', _POWER,
              '\tpm_runtime_put_autosuspend(ctx->onpu->drm.dev);\n}\n', '\t(void)ctx;\n}\n'),
    _mutation('jobs do not keep the device awake', 'onpu_job.c', _POWER,
              '\tif (list_empty(&ctx->jobs))\n\t\tpm_runtime_get_noresume(ctx->onpu->drm.dev);\n', ''),
    _mutation('the clock is read from a device that sleeps', 'onpu_drv.c', _POWER,
              'int ret = pm_runtime_resume_and_get(onpu->drm.dev);',
              'int ret = 0;\n\n\tpm_runtime_get_noresume(onpu->drm.dev);'),
    _mutation('nobody is told of a reset that helped', 'onpu_reset.c', _FAULTS,
              '\t\tif (!ret)\n\t\t\tschedule_work(&onpu->event_work);\n', ''),
    _mutation('the program that made a reset necessary is not named', 'onpu_queue.c', _FAULTS,
              '\tctx->onpu->culprit = ctx->creator;\n', ''),
    _mutation('the program of an earlier reset is named again', 'onpu_reset.c', _FAULTS,
              '\t\tonpu->culprit.comm[0] = \'\\0\';\n', ''),
    _mutation('all ones for a moment are the end of the device', 'onpu_reset.c', _FAULTS,
              'i < ATTEMPTS && wait_for_config(onpu); i++', 'i < ATTEMPTS && pci_device_is_present(onpu->pdev); i++'),
    _mutation('a link that was down leaves configuration space empty', 'onpu_reset.c', _FAULTS,
              '\trestore_config(onpu);\n\treturn onpu_device_start', '\treturn onpu_device_start'),
    _mutation('a device whose link comes back late is given up', 'onpu_reset.c', _FAULTS,
              '\t\tmsleep(ms);\n\t\tif (pci_device_is_present(pdev))\n\t\t\treturn true;\n', '\t\tmsleep(ms);\n'),
    _mutation('bus mastering that cannot be seen is off', 'onpu_reset.c', _FAULTS,
              'onpu->quarantine = command & PCI_COMMAND_MASTER &&', 'onpu->quarantine = !onpu->pdev &&'),
    _mutation('the quarantine never ends by itself', 'onpu_reset.c', _FAULTS,
              '\t\tqueue_delayed_work(onpu->reset_wq, &onpu->quarantine_work, QUARANTINE_CHECK);\n', '\t\t;\n'),
    _mutation('who makes resets necessary is not banned', 'onpu_ctx.c', _FAULTS,
              '\telse if (onpu_user_is_banned(ctx->vm->user))\n\t\tret = -EPERM;\n', ''),
    _mutation('jobs that withstand the end of their context do not count', 'onpu_queue.c', _FAULTS,
              'return blame(ctx, request_ctx(ctx, ONPU_MSG_CTX_KILL));',
              'return request_ctx(ctx, ONPU_MSG_CTX_KILL);'),
    _mutation('jobs that keep their queue do not count', 'onpu_queue.c', _QUEUES,
              'ret = blame(ctx, request_queue(ctx, ONPU_MSG_QUEUE_UNBIND, queue, ONPU_QUEUE_PREEMPT,\n'
              '\t\t\t\t       &head));',
              'ret = request_queue(ctx, ONPU_MSG_QUEUE_UNBIND, queue, ONPU_QUEUE_PREEMPT, &head);'),
    _mutation('resets are forgotten with the last file of a user', 'onpu_user.c', _FAULTS,
              '\tif (!user->strikes)\n\t\tonpu_user_get(user);\n', ''),
    # No memory
    _mutation('a copy of the firmware that is not there', 'onpu_fw.c', _PROBE,
              'fw->image && fw->log && fw->file', 'fw->image && fw->log'),
    _mutation('a fence that is freed keeps the module', 'onpu_job.c', _FAIL,
              '\tmodule_put(THIS_MODULE);\n', ''),
    _mutation('shmem without memory is a limit', 'onpu_gem.c', _FAIL,
              'if (IS_ERR(shmem))\n\t\treturn ERR_PTR(-ENOMEM);', 'if (IS_ERR(shmem))\n\t\treturn ERR_CAST(shmem);'),
    _mutation('jobs that a reset took do not end', 'onpu_ctx.c', _lifecycle('reset'),
              '\tonpu_job_end_all(ctx, -ECANCELED, -ECANCELED);\n'
              '\tif (ctx->destroyed)\n\t\tqueue_end_work(ctx);\n'
              '\tif (ctx->state == DRM_ONPU_CTX_ACTIVE && !ctx->dead) {',
              '\tif (ctx->state == DRM_ONPU_CTX_ACTIVE && !ctx->dead) {'),
    _mutation('jobs that unbinding took do not end', 'onpu_reset.c', _lifecycle('cut'),
              '\tonpu_ctx_post_reset(onpu, false);\n', ''),
]
