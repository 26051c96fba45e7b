// SPDX-License-Identifier: MIT
/* Address spaces: the handlers that write the entries of the VM table. */
#include "firmware.h"

static bool asid_taken(const struct firmware *fw, uint32_t asid)
{
	for (uint32_t i = 0; i < fw->num_vms; i++)
		if (fw->vms[i].used && fw->vms[i].asid == asid)
			return true;
	return false;
}

uint32_t vm_create(struct firmware *fw, const struct onpu_msg_vm *m)
{
	struct fw_vm *vm;

	if (m->vm >= fw->num_vms || m->asid >= fw->num_asids || m->root % ONPU_PAGE_SIZE ||
	    m->root >> ONPU_BUS_BITS)
		return ONPU_MSG_INVALID;
	vm = &fw->vms[m->vm];
	if (vm->used || asid_taken(fw, m->asid))
		return ONPU_MSG_EXISTS;
	vm->used = true;
	vm->asid = m->asid;
	vm->contexts = 0;
	sched_forget_vm(fw, m->vm);
	fw->counts.vms++;
	hw_write64(ONPU_REG_CORE_VM_ROOT_LO(m->vm), m->root);
	hw_write(ONPU_REG_CORE_VM_CONTROL(m->vm),
		 m->asid << ONPU_CORE_VM_CONTROL_ASID__SHIFT | ONPU_CORE_VM_CONTROL_VALID__MASK);
	return ONPU_MSG_OK;
}

uint32_t vm_destroy(struct firmware *fw, const struct onpu_msg_vm *m)
{
	if (m->vm >= fw->num_vms || m->asid || m->root)
		return ONPU_MSG_INVALID;
	if (!fw->vms[m->vm].used)
		return ONPU_MSG_NOT_FOUND;
	if (fw->vms[m->vm].contexts)
		return ONPU_MSG_BUSY;
	fw->vms[m->vm].used = false;
	fw->counts.vms--;
	hw_write(ONPU_REG_CORE_VM_CONTROL(m->vm), 0);
	return ONPU_MSG_OK;
}
