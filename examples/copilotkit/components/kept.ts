"use client";

import { useCallback, useEffect, useState } from "react";

/**
 * What this browser keeps under a name, beyond a reload: undefined until it is known, for the server keeps nothing, and
 * what `make` makes where nothing is kept.
 */
export function useKept(name: string, make: () => string) {
  const [value, setValue] = useState<string>();
  const keep = useCallback(
    (next: string) => {
      localStorage.setItem(name, next);
      setValue(next);
    },
    [name],
  );
  useEffect(() => keep(localStorage.getItem(name) ?? make()), [name, make, keep]);
  return [value, keep] as const;
}
