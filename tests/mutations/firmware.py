# SPDX-License-Identifier: MIT
"""Errors planted in the firmware, for run.py."""

_DIR = 'build/mutations'
_TESTS = {name: f'{_DIR}/tests/firmware/test-firmware-{name}'
          for name in ('races', 'requests', 'rings', 'sched')}

SETUP = [f'meson setup {_DIR} -Db_sanitize=address,undefined']
BUILD = f'ninja -C {_DIR} ' + ' '.join(t[len(_DIR) + 1:] for t in _TESTS.values())


def _mutation(name, file, test, old, new):
    return {'name': name, 'file': 'firmware/' + file, 'old': old, 'new': new,
            'command': _TESTS[test]}


MUTATIONS = [
    _mutation('low priorities first', 'sched.c', 'sched',
              'for (uint32_t priority = ONPU_PRIORITY_COUNT; priority-- > 0;)\n',
              'for (uint32_t priority = 0; priority < ONPU_PRIORITY_COUNT; priority++)\n'),
    _mutation('a low priority starves', 'sched.c', 'sched',
              'if (s->owed < ONPU_PRIORITY_COUNT && give_slice(fw, s->owed))\n', 'if (false)\n'),
    _mutation('a time slice that is owed is interrupted', 'sched.c', 'sched',
              'if (s->slice && s->owed < ONPU_PRIORITY_COUNT && slice_lasts(fw, s->owed))\n', 'if (false)\n'),
    _mutation('nobody looks whether others wait below', 'sched.c', 'sched',
              'alone && !(note_waiting(&fw->sched) & (bit_of(priority) - 1))', 'alone'),
    _mutation('a time slice never ends', 'sched.c', 'sched',
              'if (!s->slice || !s->arrived)\n', 'if (s->slice || !s->arrived)\n'),
    _mutation('the interrupted queue goes on', 'sched.c', 'sched',
              'best->last = best->next;\n',
              'best->last = best->next ? best->next - 1 : UINT8_MAX;\n'),
    _mutation('queues share the time, not clients', 'sched.c', 'sched',
              'share->used < best->used)', 'share->used == best->used)'),
    _mutation('what is beyond the slice costs nothing', 'sched.c', 'sched',
              's->leaving->used += hw_cycle() - s->left_at;', 's->left_at = 0;'),
    _mutation('a client that is behind goes on for ever', 'sched.c', 'sched',
              'write_slice(fw, s->charged + s->slice);', 'write_slice(fw, 0);'),
    _mutation('who made a pause is owed for it', 'sched.c', 'sched',
              'share->used = clamp_share(fw, shares, share->used);', 'clamp_share(fw, shares, share->used);'),
    _mutation('a doorbell is forgotten before the state is read', 'sched.c', 'races',
              'if (has_work(queue))\n\t\treturn true;\n\t*ready &= ~bit_of(queue);\n'
              '\treturn false;\n',
              'if (has_work(queue))\n\t\treturn true;\n\t*ready &= ~bit_of(queue);\n'
              '\thw_write(ONPU_REG_CORE_DOORBELL_PENDING(word_of(queue)), bit_of(queue));\n'
              '\treturn false;\n'),
    _mutation('interrupts are cleared after the look', 'main.c', 'races',
              'fw->counts.beats++;\n\tfault_poll(fw);\n'
              '\tfw->more = !fw->failed && mailbox_poll(fw);\n'
              '\tif (!fw->failed)\n\t\tsched_poll(fw);\n',
              'fw->counts.beats++;\n\tfault_poll(fw);\n'
              '\tfw->more = !fw->failed && mailbox_poll(fw);\n'
              '\tif (!fw->failed)\n\t\tsched_poll(fw);\n'
              '\thw_write(ONPU_REG_CORE_IRQ_STATUS, hw_read(ONPU_REG_CORE_IRQ_STATUS));\n'),
    _mutation('a queue is taken away without a second look', 'sched.c', 'races',
              'if (wait_until(has_left, queue, FW_CP_PATIENCE) && !has_work(queue))\n',
              'if (wait_until(has_left, queue, FW_CP_PATIENCE))\n'),
    _mutation('a preempted job is not waited for', 'sched.c', 'sched',
              '\tif (wait_until(has_left, queue, ONPU_CORE_SWITCH_LIMIT__RESET + FW_CP_PATIENCE))\n'
              '\t\treturn true;\n', '\treturn true;\n'),
    _mutation('a queue with an interrupted job gets no time slice', 'sched.c', 'sched',
              '\tif (ready)\n\t\tfw->sched.ready', '\tif (!ready)\n\t\tfw->sched.ready'),
    _mutation('the answer to a kill does not wait', 'sched.c', 'sched',
              'fw->sched.killing = !wait_until(is_killed, queue, FW_CP_PATIENCE);\n', 'fw->sched.killing = false;\n'),
    _mutation('the end of an earlier kill is that of this one', 'sched.c', 'sched',
              'if (fw->sched.killing && ', 'if (false && '),
    _mutation('a fault without room for its event is lost', 'fault.c', 'rings',
              'hw_read(ONPU_REG_CORE_FAULT_COUNT) && mailbox_room(fw)) {\n\t\t'
              'struct onpu_fault_record record;\n\n\t\tread_record(&record);\n\t\t'
              'send_event(fw, &record);\n',
              'hw_read(ONPU_REG_CORE_FAULT_COUNT)) {\n\t\t'
              'struct onpu_fault_record record;\n\n\t\tread_record(&record);\n\t\t'
              'if (mailbox_room(fw))\n\t\t\tsend_event(fw, &record);\n'),
    _mutation('a fault without room keeps the core awake', 'fault.c', 'rings',
              'set_awake(fw, !hw_read(ONPU_REG_CORE_FAULT_COUNT));\n', 'set_awake(fw, true);\n'),
    _mutation('the event comes after the answer', 'mailbox.c', 'races',
              '* before the response.\n\t */\n\tfault_poll(fw);\n', '* before the response.\n\t */\n'),
    _mutation('the driver is not told of room', 'mailbox.c', 'races',
              'if (hw_read(ONPU_REG_CORE_REQUEST_TAIL) - before >= ring->size)\n',
              'if (hw_read(ONPU_REG_CORE_REQUEST_TAIL) - before > ring->size)\n'),
    _mutation('an index out of step is believed', 'mailbox.c', 'rings',
              'if (waiting > fw->requests.size) {\n', 'if (waiting > UINT32_MAX / 2) {\n'),
    _mutation('a failed transfer is believed', 'mailbox.c', 'rings',
              'if (!hw_dma(ONPU_DMA_READ, slot_address(&fw->requests), &fw->message, ONPU_MSG_SIZE)) {\n',
              'hw_dma(ONPU_DMA_READ, slot_address(&fw->requests), &fw->message, ONPU_MSG_SIZE);\n'
              '\tif (fw->failed) {\n'),
    _mutation('a ring of any size', 'context.c', 'requests',
              '\t    m->ring_size & (m->ring_size - 1))\n', '\t    !m->ring_size)\n'),
    _mutation('a save area beyond the address space', 'context.c', 'requests',
              '!range_valid(m->save, hw_read(ONPU_REG_CORE_SAVE_BYTES), ONPU_PAGE_SIZE) ||',
              '!range_valid(m->save, ONPU_PAGE_SIZE, ONPU_PAGE_SIZE) ||'),
    _mutation('a queue that is not there', 'context.c', 'requests',
              'if (q >= fw->num_queues || (m->mode != ONPU_QUEUE_PLAIN && m->mode != ONPU_QUEUE_RESUME))\n',
              'if (q > fw->num_queues || (m->mode != ONPU_QUEUE_PLAIN && m->mode != ONPU_QUEUE_RESUME))\n'),
    _mutation('address spaces beyond those of the device', 'vm.c', 'requests',
              'm->asid >= fw->num_asids ||', 'm->asid > fw->num_asids ||'),
    _mutation('two address spaces share an ASID', 'vm.c', 'requests',
              'if (vm->used || asid_taken(fw, m->asid))\n', 'if (vm->used)\n'),
    _mutation('an address space is destroyed in use', 'vm.c', 'requests',
              'if (fw->vms[m->vm].contexts)\n', 'if (fw->vms[m->vm].contexts > 1)\n'),
    _mutation('the log runs beyond its ring', 'log.c', 'rings',
              'uint32_t first = size < log->size - at ? size : log->size - at;\n',
              'uint32_t first = size;\n'),
]
