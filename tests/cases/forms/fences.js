// Markdown around the script.

// --- a fence with a language
//! result: 1
```js
1
```
// --- javascript
//! result: 2
```javascript
const a = 2;
a
```
// --- typescript
//! result: 3
```typescript
const a: number = 3;
a
```
// --- ts
//! result: 4
```ts
(async (): Promise<number> => 4)()
```
// --- another word
//! result: 5
```jsx
5
```
// --- no language
//! result: 6
```
6
```
// --- attributes after the language
//! result: 7
```js title="script.js"
7
```
// --- not closed
//! result: 8
```js
8
// --- closed without a line break
//! result: 9
```js
9```
// --- tildes
//! result: 10
~~~js
10
~~~
// --- longer fences
//! result: 11
````js
11
````
// --- blank lines around
//! result: 12


```js

12

```


// --- prose around one fence
//! result: 13
I'll click the button and read the title:

```js
13
```

This returns thirteen.
// --- prose before, not closed
//! result: 14
Here is the script:
```js
14
// --- prose with an inline code word
//! result: 15
Use `cdp.send` like this:

```js
15
```
// --- an async arrow in a fence
//! result: 16
```js
async () => {
  return await fake.echo(16);
}
```
// --- a fence inside a template is the script's own
//! result: "```js\n1\n```"
'```js\n' + `1
\`\`\``
// --- indented fences
//! result: 17
  ```js
  17
  ```
// --- two fences are two scripts
//! error: SYNTAX_ERROR
//! message: /several fenced blocks/
//! hint: /(?i)one script/
```js
1
```
and
```js
2
```
// --- an empty fence
//! error: SYNTAX_ERROR
//! message: /no code/
```js
```
// --- nothing at all
//! error: SYNTAX_ERROR
//! message: /no code/
//! details.line: 1
//! details.column: 1

// --- white space
//! error: SYNTAX_ERROR
//! message: /no code/
 «3 " \t"»
// --- only a comment
//! error: SYNTAX_ERROR
//! message: /no code/
// nothing here
// --- prose alone is not a script
//! error: SYNTAX_ERROR
I am sorry, I cannot do that.
// --- a fence behind prose on its line
//! result: 2
Sure! ```js
1 + 1
```
// --- with prose after it
//! result: 2
Here is the script you asked for: ```typescript
const n: number = 1;
n + 1
```
It adds one.
