// SPDX-License-Identifier: MIT
//
// import.js makes Node run this on the thread that resolves imports. The program's own package, in a folder
// node_modules, has priority.
export async function resolve(specifier, context, next) {
	try {
		return await next(specifier, context);
	} catch (error) {
		if (error.code !== 'ERR_MODULE_NOT_FOUND' || !/^webnn-npu(\/|$)/.test(specifier))
			throw error;
		// Resolves the import as from this package, which may import itself by its name.
		return next(specifier, { ...context, parentURL: import.meta.url });
	}
}
