// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {DepositAddressFactory} from "../../src/DepositAddressFactory.sol";
import {IDepositAddressFactory} from "../../src/IDepositAddressFactory.sol";
import {Treasury} from "../../src/Treasury.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Vm} from "../Vm.sol";
import {Bequeather} from "../actors/Bequeather.sol";
import {Reenterer} from "../actors/Reenterer.sol";
import {FalseToken} from "../tokens/FalseToken.sol";
import {FeeToken} from "../tokens/FeeToken.sol";
import {HookToken} from "../tokens/HookToken.sol";
import {NoReturnToken} from "../tokens/NoReturnToken.sol";
import {Handler} from "./Handler.sol";

/// @notice Pays unusual tokens to a few deposit addresses, sweeps them from any account, and records the results.
contract DepositAddressHandler is Handler {
    uint256 public constant SALTS = 8;

    Treasury public immutable treasury;
    DepositAddressFactory public immutable factory;
    Bequeather private immutable _bequeather;

    /// @dev The first is the native token, the second takes a fee, the last never moves.
    address[] public tokens;
    address[] public callers;

    mapping(address token => uint256 amount) public funded;
    mapping(address token => uint256 amount) public swept;

    uint256 public sweeps;
    bool public leftSomething;
    bool public toldOfAnotherAddress;
    bool public refusedAPayment;

    constructor() {
        treasury = new Treasury(named("owner"), new address[](0));
        factory = new DepositAddressFactory(address(treasury));
        _bequeather = new Bequeather();
        HookToken hooked = new HookToken();

        tokens.push(address(0));
        tokens.push(address(new FeeToken(137)));
        tokens.push(address(new DevToken("USD Coin", "USDC", 6, address(this), 0)));
        tokens.push(address(new NoReturnToken()));
        tokens.push(address(hooked));
        tokens.push(address(new FalseToken()));
        callers.push(named("first caller"));
        callers.push(named("second caller"));
        callers.push(address(treasury));
        vm.deal(address(this), type(uint128).max);

        Reenterer reenterer = new Reenterer();
        IDepositAddressFactory.Sweep[] memory inner = new IDepositAddressFactory.Sweep[](1);
        inner[0] = IDepositAddressFactory.Sweep(bytes32(0), address(hooked));
        reenterer.plan(address(factory), abi.encodeCall(IDepositAddressFactory.sweep, (inner)), 0);
        hooked.setHook(address(treasury), reenterer);
    }

    /* ACTIONS */

    function pay(uint256 tokenSeed, uint256 saltSeed, uint256 amount, bool force) external {
        address token = tokens[tokenSeed % tokens.length];
        address to = factory.addressOf(bytes32(saltSeed % SALTS));
        amount = between(amount, 1, 1000 ether);
        funded[token] += amount;
        if (token != address(0)) DevToken(token).mint(to, amount);
        else if (force) _bequeather.give{value: amount}(to);
        else _payPlainly(to, amount);
    }

    function sweep(uint256 callerSeed, uint256 seed) external {
        IDepositAddressFactory.Sweep[] memory batch = new IDepositAddressFactory.Sweep[](between(seed, 0, 6));
        for (uint256 i; i < batch.length; ++i) {
            uint256 random = uint256(keccak256(abi.encode(seed, i)));
            // The token that never moves is chosen rarely, because it makes the whole batch fail.
            address token = tokens[random % 16 == 0 ? tokens.length - 1 : (random >> 8) % (tokens.length - 1)];
            batch[i] = IDepositAddressFactory.Sweep(bytes32((random >> 16) % SALTS), token);
        }
        (bool succeeded, Vm.Log[] memory logs) = _attempt(
            callers[callerSeed % callers.length],
            address(factory),
            0,
            abi.encodeCall(IDepositAddressFactory.sweep, (batch))
        );
        if (!succeeded) return;
        ++sweeps;
        for (uint256 i; i < logs.length; ++i) {
            _note(logs[i]);
        }
        for (uint256 i; i < batch.length; ++i) {
            if (balanceOf(batch[i].token, factory.addressOf(batch[i].salt)) != 0) leftSomething = true;
        }
    }

    /* READING */

    function tokenCount() external view returns (uint256) {
        return tokens.length;
    }

    function callerCount() external view returns (uint256) {
        return callers.length;
    }

    function balanceOf(address token, address account) public view returns (uint256) {
        return token == address(0) ? account.balance : IERC20(token).balanceOf(account);
    }

    function waiting(address token) external view returns (uint256 sum) {
        for (uint256 i; i < SALTS; ++i) {
            sum += balanceOf(token, factory.addressOf(bytes32(i)));
        }
    }

    /* INTERNAL */

    function _payPlainly(address to, uint256 amount) private {
        (bool paid,) = to.call{value: amount, gas: 2300}("");
        if (!paid) refusedAPayment = true;
    }

    function _note(Vm.Log memory log) private {
        swept[_address(log.topics[2])] += abi.decode(log.data, (uint256));
        if (_address(log.topics[3]) != factory.addressOf(log.topics[1])) toldOfAnotherAddress = true;
    }
}
