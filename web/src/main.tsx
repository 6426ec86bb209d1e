/** Starts the page. */

import { render } from 'preact';
import './styles/app.css';
import { App } from './app.tsx';
import { beginSession } from './lib/login.ts';

const element = document.getElementById('app');
if (element) void beginSession().then(() => render(<App />, element));
