/** The session, in components. */

import { useEffect, useState } from 'preact/hooks';
import { currentSession, type Session, watchSession } from '../lib/session.ts';

/** Returns the session, and renders again when it changes. */
export function useSession(): Session {
  const [session, setSession] = useState(currentSession);
  useEffect(() => {
    setSession(currentSession());
    return watchSession(setSession);
  }, []);
  return session;
}
