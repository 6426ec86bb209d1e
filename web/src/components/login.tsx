/** How to begin a session: the ways that the server offers. */

import type { ComponentChildren, JSX, Ref } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, isAbort, type Problem } from '../lib/api.ts';
import { login, loginOffer, type Offer, secondsLeft, spokenSeconds, waitText, type Way } from '../lib/login.ts';
import { goToProvider, providerFailure } from '../lib/provider.ts';
import { openSession } from '../lib/session.ts';
import { visible } from '../lib/text.ts';
import { ProblemBox } from './problem.tsx';

/** Ways that have a form. */
type FormWay = Extract<Way, 'password' | 'token'>;

/** @param isReturning whether a session has ended while the page was open */
export function Login({ isReturning }: { readonly isReturning: boolean }): JSX.Element {
  const [attempts, setAttempts] = useState(0);
  const [offer, setOffer] = useState<Offer | undefined>(undefined);
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    setProblem(undefined);
    loginOffer(abort.signal).then(setOffer, (error: unknown) => {
      if (!isAbort(error)) setProblem(asProblem(error));
    });
    return () => abort.abort();
  }, [attempts]);
  const ways = offer?.ways;
  const hasProvider = ways?.includes('oidc') ?? false;
  const forms = (['password', 'token'] as const).filter((way) => ways?.includes(way));
  return (
    <>
      <h1>{forms.length > 0 || hasProvider ? 'Log in' : 'Trawl'}</h1>
      <ProblemBox problem={problem} />
      {problem !== undefined && <TryAgain onClick={() => setAttempts(attempts + 1)} />}
      {problem === undefined && ways === undefined && <p class="hint" role="status">Loading …</p>}
      {forms.length > 0 && isReturning && <p role="status">The session has ended. Log in to go on where you were.</p>}
      {hasProvider && <ProviderLogin name={offer?.provider ?? ''} />}
      {forms[0] !== undefined && <LoginForm ways={forms} first={forms[0]} />}
      {ways?.includes('link') && (
        <NoSession>
          Open the link that <code>trawl web</code> printed. It holds once: press Enter where <code>trawl web</code> runs for a new one, or run it again.
        </NoSession>
      )}
      {ways !== undefined && forms.length === 0 && !hasProvider && !ways.includes('link') && (
        <>
          <NoSession>This server has no form to log in. A certificate, or a proxy in front of it, must say who asks, and does not.</NoSession>
          <TryAgain onClick={() => openSession(undefined)} />
        </>
      )}
    </>
  );
}

/** The way to a provider of OpenID Connect, and why it did not lead to a session. */
function ProviderLogin({ name }: { readonly name: string }): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState(providerFailure);
  const go = (): void => {
    setAsking(true);
    setProblem(undefined);
    goToProvider().catch((error: unknown) => {
      setProblem(asProblem(error));
      setAsking(false);
    });
  };
  return (
    <div class="login provider">
      <ProblemBox problem={problem} />
      <button type="button" class="button" disabled={isAsking} onClick={go}>{isAsking ? 'Asking …' : `Log in with ${visible(name)}`}</button>
    </div>
  );
}

function NoSession({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <div class="problem" role="alert">
      <strong>No session</strong>
      <p>{children}</p>
    </div>
  );
}

function TryAgain({ onClick }: { readonly onClick: () => void }): JSX.Element {
  return <button type="button" class="button" onClick={onClick}>Try again</button>;
}

function LoginForm({ ways, first }: { readonly ways: readonly FormWay[]; readonly first: FormWay }): JSX.Element {
  const [way, setWay] = useState(first);
  const [user, setUser] = useState('');
  const [secret, setSecret] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const [wait, setWait] = useState({ until: 0, whole: 0 });
  const left = useSecondsLeft(wait.until);
  const userField = useRef<HTMLInputElement>(null);
  const secretField = useRef<HTMLInputElement>(null);
  useEffect(() => (userField.current ?? secretField.current)?.focus(), [way]);

  const submit = (event: Event): void => {
    event.preventDefault();
    if (isAsking || left > 0) return;
    setAsking(true);
    setProblem(undefined);
    setWait({ until: 0, whole: 0 });
    login(way === 'password' ? { user, password: secret } : { token: secret.trim() })
      .then(
        () => setSecret(''),
        (error: unknown) => {
          const refusal = asProblem(error);
          setProblem(refusal);
          if (isWrong(refusal)) setSecret('');
          if (refusal.waitSeconds !== undefined) setWait({ until: Date.now() + refusal.waitSeconds * 1000, whole: refusal.waitSeconds });
          secretField.current?.focus();
        },
      )
      .finally(() => setAsking(false));
  };
  const turnTo = (next: FormWay): void => {
    setWay(next);
    setSecret('');
    setProblem(undefined);
  };
  const other = ways.find((one) => one !== way);
  return (
    <form class="login" onSubmit={submit}>
      {way === 'password' && (
        <div class="field">
          <label for="login-user">User name</label>
          <input id="login-user" type="text" required autocomplete="username" autocapitalize="none" spellcheck={false} ref={userField}
            value={user} onInput={(event) => setUser(event.currentTarget.value)} />
        </div>
      )}
      <SecretField key={way} label={way === 'password' ? 'Password' : 'Token'} autocomplete={way === 'password' ? 'current-password' : 'off'}
        field={secretField} isWrong={isWrong(problem)} value={secret} onInput={setSecret} />
      <div id="login-problem"><ProblemBox problem={problem} /></div>
      <Wait left={left} whole={wait.whole} />
      <button type="submit" class="button primary" disabled={isAsking || left > 0}>{isAsking ? 'Asking …' : 'Log in'}</button>
      {other !== undefined && <button type="button" class="link" onClick={() => turnTo(other)}>Use a {other} instead</button>}
    </form>
  );
}

/** Whether what was typed is refused, and not only the time or the way. */
function isWrong(problem: Problem | undefined): boolean {
  return problem?.status === 403 || problem?.status === 401;
}

interface SecretProps {
  readonly label: string;
  readonly autocomplete: 'current-password' | 'off';
  readonly field: Ref<HTMLInputElement>;
  readonly isWrong: boolean;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

/** A field whose text is hidden until a button shows it. */
function SecretField({ label, autocomplete, field, isWrong, value, onInput }: SecretProps): JSX.Element {
  const [isShown, setShown] = useState(false);
  return (
    <div class="field">
      <label for="login-secret">{label}</label>
      <div class="row-of">
        <input id="login-secret" {...(isShown ? { type: 'text' } : { type: 'password' })} required autocomplete={autocomplete} autocapitalize="none" spellcheck={false} ref={field}
          aria-invalid={isWrong} aria-describedby="login-problem" value={value} onInput={(event) => onInput(event.currentTarget.value)} />
        <button type="button" class="button" aria-pressed={isShown} aria-label={`Show the ${label.toLowerCase()}`} onClick={() => setShown(!isShown)}>Show</button>
      </div>
    </div>
  );
}

/** Returns the seconds until a time in milliseconds, and renders again while they pass. */
function useSecondsLeft(until: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = (): void => {
      setNow(Date.now());
      if (Date.now() >= until) clearInterval(timer);
    };
    const timer = setInterval(tick, 1000);
    tick();
    return () => clearInterval(timer);
  }, [until]);
  return secondsLeft(until, now);
}

/** How long to wait: each second for the eye, and at few steps for screen readers. */
function Wait({ left, whole }: { readonly left: number; readonly whole: number }): JSX.Element {
  const say = (seconds: number): string =>
    whole === 0 ? '' : seconds === 0 ? 'You can try again now.' : `You can try again in ${waitText(seconds)}.`;
  return (
    <>
      <p class="wait" aria-hidden="true">{say(left)}</p>
      <p class="hidden" role="status">{say(left === 0 ? 0 : spokenSeconds(left, whole))}</p>
    </>
  );
}
