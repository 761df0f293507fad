"use client";

import { useCallback, useEffect, useState } from "react";

/** A text that this browser keeps beyond a reload. `make` gives the first; undefined on the server and in the first render. */
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
