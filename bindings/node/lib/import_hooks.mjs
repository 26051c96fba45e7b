// SPDX-License-Identifier: MIT
//
// import.js has Node run this on the thread where it resolves what is imported. A package of the program's own, in a
// folder node_modules, comes first.
export async function resolve(specifier, context, next) {
	try {
		return await next(specifier, context);
	} catch (error) {
		if (error.code !== 'ERR_MODULE_NOT_FOUND' || !/^webnn-npu(\/|$)/.test(specifier))
			throw error;
		// A package may import itself by its name.
		return next(specifier, { ...context, parentURL: import.meta.url });
	}
}
