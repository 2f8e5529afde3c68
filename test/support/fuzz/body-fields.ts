import type { Json } from './fuzz-world.js';

interface Field {
  readonly steps: readonly string[];
  readonly schema: Json;
  readonly required: boolean;
}

/** The fields that a body has, and those of objects in it; not those that mean nothing and take anything. */
export function fieldsOf(schema: Json, above: readonly string[] = []): Field[] {
  return Object.entries<Json>(schema.properties ?? {}).flatMap(([name, property]) => {
    if (typesOf(property).size === 0) return [];
    const steps = [...above, name];
    const field = { steps, schema: property, required: (schema.required ?? []).includes(name) };
    return property.type === 'object' ? [field, ...fieldsOf(property, steps)] : [field];
  });
}

/** The JSON types that a schema allows; `choice` where it names its values. */
export function typesOf(schema: Json): Set<string> {
  const variants: Json[] = schema.anyOf ?? schema.oneOf ?? [schema];
  return new Set(
    variants.flatMap((variant) =>
      variant.enum !== undefined || variant.const !== undefined
        ? ['choice', ...(variant.type === undefined ? [] : [variant.type].flat())]
        : [variant.type ?? []].flat(),
    ),
  );
}

export function formatsOf(schema: Json): Set<string> {
  const variants: Json[] = schema.anyOf ?? schema.oneOf ?? [schema];
  return new Set(variants.flatMap(({ format }) => format ?? []));
}
