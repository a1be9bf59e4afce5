// A receiver that verifies as the published TypeScript code does.
//
// It accepts and refuses the same headers, edge by edge; the rest is what the document asks of a receiver: 400 for what
// is refused, one header line, deduplication by `id`, and a 2xx once the delivery is safe.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const SECRETS = process.env.ASIXTO_WEBHOOK_SECRETS.split(',');
const WINDOW = 300;
// 256 KB, and room for what a replay adds.
const BODY_LIMIT = 257 * 1024;

const runs = new Map();

const same = (one, other) => {
  const [a, b] = [Buffer.from(one, 'utf8'), Buffer.from(other, 'utf8')];
  return a.length === b.length && timingSafeEqual(a, b);
};

// Keys and values are trimmed, as is the blank around `=`; the last `t` counts; a `v1` without a value is none.
const genuine = (header, body) => {
  const pairs = header
    .split(',')
    .map((part) => [part, part.indexOf('=')])
    .filter(([, equals]) => equals > 0)
    .map(([part, equals]) => [part.slice(0, equals).trim(), part.slice(equals + 1).trim()]);
  const time = pairs.findLast(([key]) => key === 't')?.[1];
  const candidates = pairs.filter(([key, value]) => key === 'v1' && value).map(([, value]) => value);
  if (time === undefined || !/^[1-9][0-9]*$/.test(time) || candidates.length === 0) return false;
  if (Math.abs(Math.floor(Date.now() / 1000) - Number(time)) > WINDOW) return false;
  // The published code takes the body as text, and has it encoded again: the same for any body that is UTF-8.
  const macs = SECRETS.map((secret) => createHmac('sha256', secret).update(`${time}.${body}`, 'utf8').digest('hex'));
  return macs.some((mac) => candidates.some((candidate) => same(candidate, mac)));
};

const answer = (response, status, body = '') => {
  if (status === 405) response.setHeader('Allow', 'POST');
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
};

const receive = (headers, body) => {
  if (headers.length !== 1 || !genuine(headers[0], body)) return 400;
  let id;
  try {
    ({ id } = JSON.parse(body));
  } catch {
    return 400;
  }
  if (typeof id !== 'string') return 400;
  // Claimed and worked on, which is to be counted, in one turn of the loop.
  if (!runs.has(id)) runs.set(id, 1);
  return 200;
};

// A body that stops is not waited for: Node answers 408.
const limits = { requestTimeout: 5000, headersTimeout: 5000, connectionsCheckingInterval: 500 };

const server = createServer(limits, (request, response) => {
  if (request.method === 'GET' && request.url === '/events') {
    return answer(response, 200, JSON.stringify([...runs].map(([id, times]) => ({ id, times }))));
  }
  if (request.url !== '/webhooks/asixto') return answer(response, 404);
  if (request.method !== 'POST') return answer(response, 405);

  // Node joins the lines of most headers; here each has to be counted.
  const headers = request.headersDistinct['asixto-signature'] ?? [];
  const chunks = [];
  let length = 0;
  request.on('data', (chunk) => {
    length += chunk.length;
    if (length > BODY_LIMIT) {
      request.pause();
      response.setHeader('Connection', 'close');
      return answer(response, 413);
    }
    chunks.push(chunk);
  });
  request.on('end', () => answer(response, receive(headers, Buffer.concat(chunks).toString('utf8'))));
  request.on('error', () => {});
});

server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
